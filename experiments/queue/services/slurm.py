"""Workers as jobs of a Slurm cluster: submitted while runs wait, and gone when nothing does.

A job is `manage.py workers` and nothing else. Slurm tells it some time before its limit to end: then its workers hand
their runs back with a checkpoint, and the next job goes on. What was waiting is looked at again and again; a job that
has not been heard of yet counts for what it will take.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from config.env import ROOT
from config.processes import child_environment
from django.conf import settings

from experiments.models import Device
from experiments.queue.selectors.workers import SLURM_JOB, idle_workers, living_workers
from experiments.queue.services.wake_up import count_begun_on_gpus, count_waiting
from workers.errors import TributaryError
from workers.home import home

ANSWER_SECONDS = 60
ACTIVE = ("PENDING", "CONFIGURING", "RUNNING")
MOST_WAITING = 100_000


class SlurmError(TributaryError):
    """What Slurm's own programs refused, in their words."""


@dataclass(frozen=True)
class SlurmJobs:
    """What each job asks for, and how many there may be. `options` go to sbatch as they are."""

    partition: str = ""
    gpus: int = 0
    cpus: int = 1
    minutes: int = 60
    workers: int = 1
    most: int = 1
    idle_seconds: int = 60
    drain_seconds: int = 120
    name: str = "tributary"
    home: str = ""
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.drain_seconds >= self.minutes * 60:
            raise SlurmError("A job must last longer than the time in which it hands its runs back.")


@dataclass(frozen=True)
class SlurmJob:
    number: str
    state: str


def batch_command(jobs: SlurmJobs) -> list[str]:
    """The signal is for the script's own process, which is the workers' supervisor: it passes it on in its own way."""
    return [
        "sbatch",
        "--parsable",
        f"--job-name={jobs.name}",
        f"--time={jobs.minutes}",
        f"--cpus-per-task={jobs.cpus}",
        f"--signal=B:TERM@{jobs.drain_seconds}",
        f"--output={home() / 'logs' / 'slurm-%j.log'}",
        *([f"--partition={jobs.partition}"] if jobs.partition else []),
        *([f"--gres=gpu:{jobs.gpus}"] if jobs.gpus else []),
        *jobs.options,
    ]


def batch_script(jobs: SlurmJobs) -> str:
    """No address and no password: those are in its environment, which nobody else can read."""
    workers = f"{sys.executable} {ROOT / 'manage.py'} workers --name slurm-$SLURM_JOB_ID --idle {jobs.idle_seconds}"
    return f"#!/bin/sh\nexec {workers}\n"


def batch_environment(jobs: SlurmJobs) -> dict[str, str]:
    addresses = {"DATABASE_URL": settings.DATABASE_URL, "REDIS_URL": settings.REDIS_URL}
    place = {"TRIBUTARY_HOME": jobs.home or str(home()), "WORKERS": str(jobs.workers)}
    return child_environment(**addresses, **place)


def submit_job(jobs: SlurmJobs) -> str:
    """Its number."""
    (home() / "logs").mkdir(parents=True, exist_ok=True)
    answer = run_slurm(batch_command(jobs), batch_script(jobs), batch_environment(jobs))
    return answer.strip().partition(";")[0]


def active_jobs(jobs: SlurmJobs) -> list[SlurmJob]:
    """Of this account and under this name."""
    states = ",".join(ACTIVE)
    command = ["squeue", "--me", "--noheader", f"--name={jobs.name}", f"--states={states}", "--format=%i %T"]
    lines = run_slurm(command, "", dict(os.environ)).splitlines()
    return [SlurmJob(*line.split(maxsplit=1)) for line in lines if line.strip()]


def run_slurm(command: Sequence[str], script: str, environment: Mapping[str, str]) -> str:
    if shutil.which(command[0]) is None:
        raise SlurmError(f"{command[0]} is not on this machine: run `manage.py slurm` where jobs are submitted.")
    try:
        done = subprocess.run(
            command, input=script, env=environment, capture_output=True, text=True, check=False, timeout=ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise SlurmError(f"{command[0]} gave no answer for {ANSWER_SECONDS} seconds.") from None
    if done.returncode:
        raise SlurmError(f"{command[0]}: {done.stderr.strip() or f'it ended with {done.returncode}'}")
    return done.stdout


def waiting_runs(jobs: SlurmJobs) -> int:
    """For which such a job could be of use."""
    waiting = count_waiting(Device.CPU, MOST_WAITING)
    if jobs.gpus:
        return waiting + count_waiting(Device.GPU, MOST_WAITING)
    return max(0, waiting - count_begun_on_gpus(MOST_WAITING))


def jobs_to_start(jobs: SlurmJobs, *, waiting: int, idle: int, active: int, coming: int) -> int:
    """`coming` of the active ones have no worker yet: each takes as many runs as it will have workers."""
    left = max(0, waiting - idle) - coming * jobs.workers
    return max(0, min(math.ceil(left / jobs.workers), jobs.most - active))


def start_needed_jobs(jobs: SlurmJobs) -> list[str]:
    """The numbers of those that were submitted."""
    active = active_jobs(jobs)
    known = {worker.facts.get(SLURM_JOB) for worker in living_workers()}
    count = jobs_to_start(
        jobs,
        waiting=waiting_runs(jobs),
        idle=len(idle_workers()),
        active=len(active),
        coming=sum(job.number not in known for job in active),
    )
    return [submit_job(jobs) for _ in range(count)]


def require_addresses() -> None:
    if not settings.DATABASE_URL or not settings.REDIS_URL:
        raise SlurmError("Nothing runs here: start Tributary, or set DATABASE_URL and REDIS_URL.")
