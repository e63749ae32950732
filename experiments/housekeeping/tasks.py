"""The Celery task of the queue `housekeeping`: claim a job, carry it out, until none is left."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event
from typing import Any

from celery import shared_task, signals
from django.db import InterfaceError, OperationalError, connection

from experiments.client_data.services import client_data_work
from experiments.datasets.services.imports import dataset_work
from experiments.housekeeping.services import jobs
from experiments.housekeeping.services.attempts import JobAttempt, JobStoppedError
from experiments.models import Job, JobKind
from experiments.results.services.old_curves import curves_work
from experiments.studies.services.calibration import calibration_work
from experiments.studies.services.deletion import deletion_work
from workers.errors import TributaryError

logger = logging.getLogger(__name__)
stopping = Event()

WORK: dict[JobKind, Callable[[JobAttempt], str]] = {
    JobKind.FETCH: dataset_work,
    JobKind.IMPORT: dataset_work,
    JobKind.VERIFY: dataset_work,
    JobKind.DELETION: deletion_work,
    JobKind.CLIENT_DATA: client_data_work,
    JobKind.OVERVIEW: client_data_work,
    JobKind.CALIBRATION: calibration_work,
    JobKind.CURVES: curves_work,
}


@shared_task(name=jobs.TASK, ignore_result=True)
def work() -> int:
    """How many jobs were carried out."""
    try:
        return jobs_carry_out()
    except (OperationalError, InterfaceError) as error:
        connection.close()
        logger.warning("The database does not answer; the scheduler rings again: %s", error)
        return 0


def jobs_carry_out() -> int:
    count = 0
    while not stopping.is_set() and (job := jobs.job_claim()):
        job_carry_out(job)
        count += 1
    return count


def job_carry_out(job: Job) -> None:
    try:
        text = WORK[JobKind(job.kind)](JobAttempt(job, stopping))
    except JobStoppedError:
        jobs.job_release(job=job)
    except TributaryError as error:
        jobs.job_fail(job=job, reason=error.detail)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        logger.exception("%s failed", job)
        jobs.job_try_again(job=job, reason=f"This is a fault of ours: {type(error).__name__}: {error}.")
    else:
        jobs.job_finish(job=job, text=text)


@signals.worker_shutting_down.connect
def announce_shutdown(**_: Any) -> None:
    """Runs in the middle of whatever the process does: it only sets a flag, which every job looks at each second."""
    stopping.set()
