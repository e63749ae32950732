import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

LOOK_SECONDS = 10.0
SUBMITTED_SECONDS = 60.0
"""After a submission: jobs that end as soon as they begin must not follow each other without a pause."""
ASKED = ("partition", "gpus", "cpus", "minutes", "workers", "most", "name", "home")


class Command(BaseCommand):
    help = "Submits workers as jobs of a Slurm cluster while runs wait; run it where sbatch is, and leave it running."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--partition", default="", help="of the jobs; the cluster's default unless given")
        parser.add_argument("--gpus", type=int, default=0, help="of each job (--gres=gpu:N); none unless given")
        parser.add_argument("--cpus", type=int, default=1, help="processors of each job (default: 1)")
        parser.add_argument("--minutes", type=int, default=60, help="time limit of each job (default: 60)")
        parser.add_argument("--workers", type=int, default=1, help="workers in each job (default: 1)")
        parser.add_argument("--most", type=int, default=1, help="jobs at a time (default: 1)")
        parser.add_argument("--idle", type=int, default=60, help="seconds without a run after which a job ends")
        parser.add_argument("--drain", type=int, default=120, help="seconds before its limit, to hand runs back")
        parser.add_argument("--name", default="tributary", help="of the jobs, by which they are counted")
        parser.add_argument("--home", default="", help="TRIBUTARY_HOME on the nodes; this machine's unless given")
        parser.add_argument("--option", action="append", default=[], help="for sbatch, as in --option=--account=lab")
        parser.add_argument("--once", action="store_true", help="submit what is needed now, and end")
        parser.add_argument("--dry-run", action="store_true", help="show what would be submitted")

    def handle(self, *_: Any, once: bool, dry_run: bool, **choice: Any) -> None:
        from experiments.queue.services.slurm import SlurmJobs, batch_command, batch_script, require_addresses

        jobs = SlurmJobs(
            **{name: choice[name] for name in ASKED},
            idle_seconds=choice["idle"],
            drain_seconds=choice["drain"],
            options=tuple(choice["option"]),
        )
        if dry_run:
            self.stdout.write(f"{' '.join(batch_command(jobs))}\n\n{batch_script(jobs)}", ending="")
            return
        require_addresses()
        submitted = self.submit(jobs)
        while not once:
            time.sleep(SUBMITTED_SECONDS if submitted else LOOK_SECONDS)
            submitted = self.submit(jobs)

    def submit(self, jobs: Any) -> int:
        """What passes is told and tried again: a cluster's controller and a database are started anew now and then."""
        from django.db import InterfaceError, OperationalError, connection

        from experiments.queue.services.slurm import SlurmError, start_needed_jobs

        try:
            numbers = start_needed_jobs(jobs)
            for number in numbers:
                self.stdout.write(f"Submitted job {number}.")
            return len(numbers)
        except SlurmError as error:
            self.stderr.write(error.detail)
        except (OperationalError, InterfaceError) as error:
            connection.close()
            self.stderr.write(f"The database does not answer: {error}")
        return 0
