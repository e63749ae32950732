"""Processes that carry out data-set jobs: the scheduler starts them, watches them and ends them."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Callable

from experiments.datasets.services.jobs import job_claim, job_fail, jobs_beat, jobs_reap
from experiments.datasets.services.uploads import request_dropped_files
from experiments.models import DatasetJob
from workers.home import ROOT

logger = logging.getLogger(__name__)
MOST_AT_ONCE = 2
UPLOAD_CHECK_SECONDS = 5.0
GRACE_SECONDS = 5.0
StartProcess = Callable[[DatasetJob], "subprocess.Popen[bytes]"]


def start_job_process(job: DatasetJob) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(ROOT / "manage.py"), "dataset_job", str(job.pk)])


class DatasetJobProcesses:
    def __init__(self, start: StartProcess = start_job_process) -> None:
        self.start = start
        self.children: dict[int, subprocess.Popen[bytes]] = {}
        self.uploads_checked_at = 0.0

    def tick(self) -> None:
        self.watch_children()
        if jobs_reap():
            logger.warning("A data-set job's process is gone.")
        if time.monotonic() - self.uploads_checked_at > UPLOAD_CHECK_SECONDS:
            self.uploads_checked_at = time.monotonic()
            request_dropped_files()
        while len(self.children) < MOST_AT_ONCE and (job := job_claim()):
            try:
                self.children[job.pk] = self.start(job)
            except OSError as error:
                job_fail(job=job.pk, reason=f"No process could be started: {error}. Try again.")

    def watch_children(self) -> None:
        for job, child in list(self.children.items()):
            if child.poll() is not None:
                del self.children[job]
                # One that ended its job itself is not touched by this.
                job_fail(job=job, reason=f"Its process ended with {child.returncode}. The scheduler's log has more.")
        if self.children:
            jobs_beat(list(self.children))

    def stop(self) -> None:
        """Jobs that are asked to leave wait again."""
        for child in self.children.values():
            child.terminate()
        for child in self.children.values():
            try:
                child.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
