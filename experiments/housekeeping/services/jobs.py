"""The queue of jobs: who is next, how many at once, what a try writes, and what becomes of one that fell silent."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from experiments.core.database import Lock, lock_in_transaction
from experiments.core.json_values import plain_text
from experiments.core.messages import send_messages
from experiments.housekeeping.models import DATASET_KINDS, PASSING_KINDS
from experiments.models import Job, JobKind, JobState, User

TASK, QUEUE = "experiments.housekeeping.tasks.work", "housekeeping"
AT_ONCE: dict[tuple[JobKind, ...], int] = {
    DATASET_KINDS: 2,
    (JobKind.DELETION,): 1,
    (JobKind.CLIENT_DATA, JobKind.OVERVIEW): 2,
    (JobKind.CALIBRATION,): 1,
    (JobKind.CURVES,): 1,
}
"""In the whole lab, however many processes there are. No kind waits for another."""
MOST_WAITING = 200
"""Jobs of one kind that wait; whoever asks for one more is told to come back."""
SILENCE_LIMIT = timedelta(seconds=60)
PAUSE_AFTER_TROUBLE = timedelta(seconds=30)
MOST_ATTEMPTS = 3
NEVER_GIVEN_UP = (JobKind.DELETION, JobKind.CURVES)
"""Half a study, or curves in two places, is nothing to leave behind."""
KEPT = timedelta(days=1)


def job_add(
    *, kind: JobKind, subject: str, path: str = "", request: dict[str, Any] | None = None, person: User | None = None
) -> Job | None:
    """None where that is waiting or at work already."""
    try:
        with transaction.atomic():
            job = Job.objects.create(kind=kind, subject=subject, path=path, request=request or {}, person=person)
            transaction.on_commit(wake_up_housekeeping)
    except IntegrityError:
        return None
    return job


def wake_up_housekeeping(messages: int = 1) -> int:
    return send_messages(TASK, [QUEUE] * messages)


def wake_up_for_waiting_jobs() -> int:
    """Once for each that could begin; returns how many."""
    most = sum(AT_ONCE.values())
    return wake_up_housekeeping(claimable_jobs()[:most].count())


def is_crowded(kind: JobKind) -> bool:
    return Job.objects.filter(kind=kind, state=JobState.QUEUED).order_by()[:MOST_WAITING].count() == MOST_WAITING


def claimable_jobs() -> QuerySet[Job]:
    """Those that wait, of kinds that have room."""
    counts = Job.objects.filter(state=JobState.RUNNING).order_by().values_list("kind").annotate(jobs=Count("pk"))
    running = Counter(dict(counts))
    free = [kind for kinds, most in AT_ONCE.items() if sum(running[each] for each in kinds) < most for kind in kinds]
    rested = Q(heartbeat=None) | Q(heartbeat__lt=Now() - PAUSE_AFTER_TROUBLE)
    return Job.objects.filter(rested, state=JobState.QUEUED, kind__in=free).order_by("id")


def job_claim() -> Job | None:
    """The oldest that may begin, now running as a new attempt."""
    with transaction.atomic():
        lock_in_transaction(Lock.JOBS)
        if job := claimable_jobs().first():
            job.state, job.attempt = JobState.RUNNING, job.attempt + 1
            Job.objects.filter(pk=job.pk).update(
                state=job.state, attempt=job.attempt, started=Now(), heartbeat=Now(), share=0, text=""
            )
    return job


def attempt_at(job: Job) -> QuerySet[Job]:
    """The row while it is this try's: what was given to another is not written any more."""
    return Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempt=job.attempt)


def job_beat(*, job: Job) -> bool:
    """A sign of life; False where the job is somebody else's by now."""
    return bool(attempt_at(job).update(heartbeat=Now()))


def job_progress(*, job: Job, share: float, text: str) -> bool:
    return bool(attempt_at(job).update(share=min(1.0, max(0.0, share)), text=plain_text(text), heartbeat=Now()))


def job_keep_result(*, job: Job, **values: Any) -> None:
    """What its work found out beside a sentence, for whoever asked for it."""
    attempt_at(job).update(request={**job.request, **values})


def job_finish(*, job: Job, text: str = "") -> None:
    attempt_at(job).update(state=JobState.DONE, text=plain_text(text), share=1.0, finished=Now())


def job_fail(*, job: Job, reason: str) -> None:
    attempt_at(job).update(state=JobState.FAILED, text=plain_text(reason), finished=Now())


def job_release(*, job: Job) -> None:
    """Its process was asked to leave: it waits again, uncounted, and a fetch goes on where it was."""
    attempt_at(job).update(
        state=JobState.QUEUED, attempt=job.attempt - 1, started=None, heartbeat=None, share=0, text=""
    )


def job_try_again(*, job: Job, reason: str) -> None:
    """After a pause; only so often, but for what would leave something half done."""
    if job.kind not in NEVER_GIVEN_UP and job.attempt >= MOST_ATTEMPTS:
        job_fail(job=job, reason=f"{reason} Given up after {MOST_ATTEMPTS} tries.")
    else:
        attempt_at(job).update(state=JobState.QUEUED, heartbeat=Now(), text=plain_text(reason))


def jobs_reap() -> int:
    """Has those tried again whose process nobody has heard of; returns how many."""
    silent = Job.objects.filter(state=JobState.RUNNING, heartbeat__lt=Now() - SILENCE_LIMIT)
    jobs = list(silent)
    for job in jobs:
        job_try_again(job=job, reason="Its process is gone.")
    return len(jobs)


def jobs_prune() -> int:
    """Forgets what ended long ago and left its result elsewhere."""
    old = Job.objects.filter(kind__in=PASSING_KINDS, finished__lt=Now() - KEPT)
    return old.delete()[0]
