import signal
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from experiments.datasets.services import jobs
from experiments.models import DatasetJob, JobKind
from workers.datasets._imported import ImportedDataset
from workers.errors import DatasetError, TributaryError

PAUSE = 0.4


class Command(BaseCommand):
    help = "Carries out one data-set job; started by the scheduler."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=int)

    def handle(self, *_: Any, job: int, **__: Any) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        dataset_job = DatasetJob.objects.get(pk=job)
        try:
            text = carry_out(dataset_job)
        except SystemExit:
            jobs.job_release(job=job)
        except TributaryError as error:
            jobs.job_fail(job=job, reason=error.detail)
        except MemoryError:
            jobs.job_fail(job=job, reason="The server has not enough memory for this data set.")
        except Exception as error:
            jobs.job_fail(job=job, reason=f"This is a fault of ours: {type(error).__name__}: {error}")
            raise
        else:
            jobs.job_finish(job=job, text=text)


def carry_out(job: DatasetJob) -> str:
    """What is told when it is done."""
    dataset = jobs.importable_dataset(job.dataset)
    if job.kind == JobKind.VERIFY:
        return verify_dataset(dataset)
    report = ProgressWriter(job.pk)
    manifests = dataset.fetch(report) if job.kind == JobKind.FETCH else dataset.import_path(job.path, report)
    return "; ".join(f"{each.train:,} training and {each.test:,} test samples" for each in manifests.values())


def verify_dataset(dataset: ImportedDataset) -> str:
    if problems := dataset.verify():
        raise DatasetError(" ".join(problems))
    return "Every file is what was written."


class ProgressWriter:
    """Writes progress to the database, at most every so often."""

    def __init__(self, job: int) -> None:
        self.job, self.last = job, 0.0

    def __call__(self, share: float, text: str) -> None:
        if time.monotonic() - self.last > PAUSE:
            self.last = time.monotonic()
            jobs.job_progress(job=self.job, share=share, text=text)
