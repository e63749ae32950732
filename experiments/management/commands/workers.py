from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Starts and supervises workers only, for a further machine: set DATABASE_URL and REDIS_URL."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", default="node", help="first part of the workers' names on this machine")
        parser.add_argument(
            "--check", action="store_true", help="start nothing; fail if no worker of this machine lives"
        )

        parser.add_argument("--idle", type=int, help="end after so many seconds without a run, as jobs of Slurm do")

    def handle(self, *_: Any, name: str, check: bool, idle: int | None, **__: Any) -> None:
        from config import worker_host

        if not check:
            worker_host.run_workers(name, idle)
        elif not worker_host.has_living_workers():
            raise CommandError("No worker of this machine has been heard of lately.")
