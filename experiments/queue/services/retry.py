"""Trying again: a run goes on from its last checkpoint, or is launched anew where it would be another run by now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction
from django.db.models import QuerySet

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_some_holder
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.errors import ConflictError
from experiments.models import Membership, Run, Study, User
from experiments.queue.services.retention import remove_run_folders
from experiments.queue.services.runs import (
    PROGRESS,
    UNSUCCESSFUL,
    equal_live_runs,
    forget_progress,
    group_by_requirement,
    refresh_run,
    requeue_runs,
)
from experiments.queue.services.wake_up import wake_up_after_commit
from experiments.results.selectors.identity import changed_runs
from experiments.studies.services.launch import create_runs, hold_live_runs
from workers.spec import PlannedRun, is_logged

LOGGED_ELSEWHERE = "A script logged this run from outside: start the script again."


def run_retry(*, run: Run, actor: User, from_start: bool = False) -> Run:
    """Queues it again as a new attempt, from its last checkpoint; or `from_start`, without any of its rounds.

    Where its data, code or engine changed, that attempt could only be refused: the person's studies get the run that
    the same spec is now, which is returned.
    """
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        require_some_holder(actor, refresh_run(run))
        if run.state not in UNSUCCESSFUL:
            raise ConflictError(f"The run is {run.state}: only failed and cancelled ones can be retried.")
        if is_logged(run.spec):
            raise ConflictError(LOGGED_ELSEWHERE)
        studies = managed_studies(actor).filter(memberships__run=run)
        own_studies = list(studies.values_list("pk", flat=True))
        if changed := changed_runs([run]):
            successor = relaunch_runs(changed, studies)[run.pk]
            audit_record(actor=actor, action="run.relaunch", subject=f"run {run.pk}", successor=successor)
            run = Run.objects.get(pk=successor)
        else:
            require_no_equal(run)
            if from_start:
                forget_progress(run)
                run.save(update_fields=PROGRESS)
            requeue_runs([run.pk])
            audit_record(actor=actor, action="run.restart" if from_start else "run.retry", subject=f"run {run.pk}")
        Study.objects.filter(pk__in=own_studies).update(cancelled=False)
        wake_up_after_commit(new=1)
    return refresh_run(run)


def managed_studies(actor: User) -> QuerySet[Study]:
    """For whoever may launch."""
    return Study.objects.all() if actor.is_lab_admin else Study.objects.filter(owner=actor)


def require_no_equal(run: Run) -> None:
    if run.shared and (equal := equal_live_runs([run]).get(run)) not in (None, run.pk):
        raise ConflictError(f"Run {equal} is equal and takes its place: retry the study to hold that one.")


def relaunch_runs(changed: Mapping[Run, PlannedRun], studies: QuerySet[Study]) -> dict[int, int]:
    """These studies hold today's run in the place of each: one that lives already, or a new one. By old run the new.

    Within a transaction that holds the lock on who holds what.
    """
    successors: dict[int, int] = {}
    for requires, runs in group_by_requirement(changed).items():
        shared = {changed[run].hash: changed[run] for run in runs if run.shared}
        held = hold_live_runs(list(shared.values()), requires)
        missing = [planned for planned in shared.values() if planned.hash not in held]
        new_runs = create_runs(missing, shared=True, requires=requires)
        for run in runs:
            planned = changed[run]
            by_hash = held | new_runs if run.shared else create_runs([planned], shared=False, requires=requires)
            successors[run.pk] = by_hash[planned.hash]
            for study in list(studies.filter(memberships__run=run)):
                swap_member(study, run, successors[run.pk], reused=run.shared and planned.hash in held)
    return successors


def swap_member(study: Study, old: Run, new: int, *, reused: bool) -> None:
    """The study holds that one from now on, in the same place; a run that no study holds any more is deleted."""
    member = Membership.objects.filter(study=study, run=old)
    place = member.values("position", "turn").get()
    member.delete()
    Membership.objects.get_or_create(study=study, run_id=new, defaults={**place, "reused": reused})
    if not Membership.objects.filter(run=old).exists():
        delete_runs([old.pk])


def delete_runs(runs: Sequence[int]) -> None:
    Run.objects.filter(pk__in=runs).delete()
    transaction.on_commit(lambda: remove_run_folders(runs))
