"""Jobs that bring data sets here: who may ask, what their process writes, and the scheduler's side of them."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from experiments.access.services.rights import require_admin
from experiments.core.errors import ConflictError, NotAllowedError
from experiments.core.json_values import plain_text
from experiments.models import DatasetJob, JobKind, JobState, User
from workers.catalog import load_catalog
from workers.datasets._imported import ImportedDataset
from workers.errors import Problem, SpecError

SILENCE_LIMIT = timedelta(seconds=60)
PATH_LENGTH = 1000


def job_request(*, actor: User | None, dataset: str, kind: JobKind, path: str = "") -> DatasetJob:
    """Queued, or refused with what to do. `actor` is None for files that were put into the lab's own folder."""
    if actor is not None and not actor.may_launch:
        raise NotAllowedError("A viewer reads. Ask an admin for the role member to fetch and import data sets.")
    importable = importable_dataset(dataset)
    if kind == JobKind.FETCH and not importable.originals:
        raise ConflictError(importable.no_fetch)
    source = require_readable_path(path) if kind == JobKind.IMPORT else ""
    try:
        with transaction.atomic():
            return DatasetJob.objects.create(dataset=dataset, kind=kind, path=source, person=actor)
    except IntegrityError:
        raise ConflictError(f"{importable.label} is being worked on already: wait until that has ended.") from None


def importable_dataset(name: str) -> ImportedDataset:
    dataset = load_catalog().datasets.get(name)
    if not isinstance(dataset, ImportedDataset):
        raise ConflictError(f"{name} is not imported: it is made here whenever it is needed.")
    return dataset


def require_readable_path(path: str) -> str:
    """An existing folder or archive of the server. Its own process looks again, as it may be on another machine."""
    text = path.strip()
    checks = [
        (not text, "Give the folder or archive on the server that holds the originals."),
        (len(text) > PATH_LENGTH or "\0" in text, "That is no path."),
        (not text.startswith("/"), "Give the whole path, from / on."),
    ]
    if message := next((message for wrong, message in checks if wrong), None) or path_problem(Path(text)):
        raise SpecError([Problem("path", message)], message)
    return text


def path_problem(path: Path) -> str | None:
    try:
        exists = path.exists()
    except OSError:
        exists = False
    if not exists:
        return f"{path} does not exist on the server."
    permissions = os.R_OK | (os.X_OK if path.is_dir() else 0)
    return None if os.access(path, permissions) else f"{path} cannot be read by the server."


def npz_request(*, actor: User, file: Path) -> DatasetJob:
    """For a file that an admin uploaded and that is in the lab's folder now."""
    require_admin(actor)
    return job_request(actor=actor, dataset="npz", kind=JobKind.IMPORT, path=str(file))


def job_claim() -> DatasetJob | None:
    """The oldest that waits, now running."""
    with transaction.atomic():
        waiting = DatasetJob.objects.filter(state=JobState.QUEUED).order_by("id")
        job = waiting.select_for_update(skip_locked=True).first()
        if job:
            DatasetJob.objects.filter(pk=job.pk).update(state=JobState.RUNNING, started=Now(), heartbeat=Now())
    return job


def job_progress(*, job: int, share: float, text: str) -> None:
    running = DatasetJob.objects.filter(pk=job, state=JobState.RUNNING)
    running.update(share=min(1.0, max(0.0, share)), text=plain_text(text), heartbeat=Now())


def job_finish(*, job: int, text: str) -> None:
    end_job(job, JobState.DONE, text, share=1.0)


def job_fail(*, job: int, reason: str) -> None:
    end_job(job, JobState.FAILED, reason)


def end_job(job: int, state: JobState, text: str, **fields: float) -> None:
    running = DatasetJob.objects.filter(pk=job, state=JobState.RUNNING)
    running.update(state=state, text=plain_text(text), finished=Now(), **fields)


def job_release(*, job: int) -> None:
    """Its process was asked to leave: it waits again, and a fetch goes on where it was."""
    DatasetJob.objects.filter(pk=job, state=JobState.RUNNING).update(state=JobState.QUEUED, started=None, text="")


def jobs_beat(jobs: list[int]) -> None:
    """Their processes live."""
    DatasetJob.objects.filter(pk__in=jobs).update(heartbeat=Now())


def jobs_reap() -> int:
    """Ends jobs whose process nobody has heard of."""
    silent_jobs = DatasetJob.objects.filter(state=JobState.RUNNING, heartbeat__lt=Now() - SILENCE_LIMIT)
    return silent_jobs.update(state=JobState.FAILED, text="Its process is gone. Start it again.", finished=Now())
