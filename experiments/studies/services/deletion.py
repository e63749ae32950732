"""Deleting a study: asked for in a moment, done in the background, in batches between which everyone else has turns."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models.functions import Now

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_manage
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.errors import ConflictError
from experiments.housekeeping.services.attempts import JobAttempt
from experiments.housekeeping.services.jobs import job_add
from experiments.models import JobKind, Membership, Run, RunState, Study, User
from experiments.queue.services.retry import delete_runs
from experiments.queue.services.runs import cancel_runs
from experiments.results.live.notify import notify_study
from experiments.studies.selectors.deletions import deletion_subject, only_held_by
from experiments.studies.services.changes import cancel_unwanted, refresh_study, run_ids, study_set

RESERVED_AT_ONCE = 500
DELETED_AT_ONCE = 50


def study_delete(*, study: Study, actor: User, expected: int | None = None) -> int:
    """Hides the study, stops its runs, and has it and the runs only it holds deleted; returns how many runs go.

    `expected` is what a person agreed to: where other runs would go by now, nothing is deleted.
    """
    require_manage(actor, study)
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        refresh_study(study)
        going = only_held_by(study)
        runs = going.count()
        if expected is not None and runs != expected:
            raise ConflictError(f"Nothing was deleted: {runs} runs would go by now, not {expected}. Look again.")
        study_set(study, deleting=Now(), cancelled=True)
        cancel_runs(run_ids(going.filter(state=RunState.RUNNING)))
        job_add(kind=JobKind.DELETION, subject=deletion_subject(study.pk), request={"study": study.pk}, person=actor)
        notify_study(study.pk, "deleted")
        audit_record(actor=actor, action="study.delete", subject=f"study {study.pk}", name=study.name, runs=runs)
    return runs


def deletion_work(attempt: JobAttempt) -> str:
    """Whatever stops it, the next try goes on with what is left."""
    study = Study.every.filter(pk=attempt.job.request["study"]).first()
    total = Membership.objects.filter(study=study).count() if study else 0
    gone = 0
    while study and (runs := reserve_runs(study)):
        for start in range(0, len(runs), DELETED_AT_ONCE):
            delete_batch(runs[start : start + DELETED_AT_ONCE])
            gone += len(runs[start : start + DELETED_AT_ONCE])
            attempt.report(gone / total, f"{gone:,} of {total:,} runs")
    return f"{gone:,} runs"


def reserve_runs(study: Study) -> list[int]:
    """The next that only this study holds: from now on no launch takes one of them. Without any, the study goes.

    Of a run that a launch took a moment before, the study only lets go.
    """
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        runs = list(only_held_by(study).order_by("pk").values_list("pk", flat=True)[:RESERVED_AT_ONCE])
        if runs:
            Run.objects.filter(pk__in=runs, shared=True).update(shared=False)
        else:
            held = run_ids(Run.objects.filter(memberships__study=study))
            study.delete()
            cancel_unwanted(Run.objects.filter(pk__in=held))
    return runs


def delete_batch(runs: Sequence[int]) -> None:
    """Runs before memberships, as workers lock them: the other way round the two could wait for each other."""
    with transaction.atomic():
        list(Run.objects.filter(pk__in=runs).order_by("pk").select_for_update().values_list("pk"))
        delete_runs(runs)
