"""Cancelling a run, and the two changes of state that runs share with studies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Now

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_every_holder
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.errors import ConflictError, GoneError
from experiments.models import Attempt, Device, Round, Run, RunState, User
from experiments.results.live.notify import notify_states
from experiments.results.services.curves import curves_forget
from workers.spec import LOGGED

ACTIVE = (RunState.QUEUED, RunState.RUNNING)
LIVE = (*ACTIVE, RunState.DONE)
UNSUCCESSFUL = (RunState.FAILED, RunState.CANCELLED)
PROGRESS = ("rounds_done", "engine", "device_type")
"""What `forget_progress` changes of a run."""


def run_cancel(*, run: Run, actor: User) -> Run:
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        require_every_holder(actor, refresh_run(run))
        if not cancel_runs([run.pk]):
            raise ConflictError(f"The run is {refresh_run(run).state}: only queued and running ones can be cancelled.")
        audit_record(actor=actor, action="run.cancel", subject=f"run {run.pk}")
    return refresh_run(run)


def refresh_run(run: Run) -> Run:
    try:
        run.refresh_from_db()
    except Run.DoesNotExist:
        raise GoneError("The run was deleted meanwhile.") from None
    return run


def live_runs(hashes: Iterable[str], requires: str) -> QuerySet[Run]:
    """Shared ones that a study with this requirement may hold in place of computing anew.

    One that requires no GPU is computed by whichever worker is free, so any run is as good; for one that requires a
    GPU a run counts that was computed on one, or will be.
    """
    runs = Run.objects.filter(hash__in=list(hashes), shared=True, state__in=LIVE)
    if requires == Device.CPU:
        return runs
    return runs.filter(Q(requires=requires) | (Q(state=RunState.DONE) & ~Q(device_type__in=("", "cpu"))))


def best_by_hash(runs: Iterable[Run], requires: str) -> dict[str, Run]:
    """Of several with one hash a done one, then one that requires the same."""
    ordered = sorted(runs, key=lambda run: (run.state == RunState.DONE, run.requires == requires, -run.pk))
    return {run.hash: run for run in ordered}


def equal_live_runs(runs: Iterable[Run]) -> dict[Run, int]:
    """For each of them the live run that has its place, where there is one."""
    equal: dict[Run, int] = {}
    for requires, group in group_by_requirement(runs).items():
        live = live_runs([run.hash for run in group], requires).only("pk", "hash", "state", "requires")
        best = best_by_hash(live, requires)
        equal |= {run: best[run.hash].pk for run in group if run.hash in best}
    return equal


def group_by_requirement(runs: Iterable[Run]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.requires, []).append(run)
    return groups


def cancel_runs(runs: Sequence[int]) -> int:
    """One statement, so that a run which is claimed or released meanwhile is caught in either state."""
    queued = Q(state=RunState.QUEUED)
    changed = Run.objects.filter(pk__in=runs, state__in=ACTIVE).update(
        cancel_requested=Case(When(queued, then=Value(False)), default=Value(True)),
        finished=Case(When(queued, then=Now()), default=F("finished")),
        state=Case(When(queued, then=Value(RunState.CANCELLED.value)), default=F("state")),
    )
    notify_states(runs)
    return changed


def requeue_runs(runs: Sequence[int]) -> int:
    changed = (
        Run.objects.filter(pk__in=runs, state__in=UNSUCCESSFUL)
        .exclude(spec__has_key=LOGGED)
        .update(state=RunState.QUEUED, crashes=0, reason="", cancel_requested=False, finished=None)
    )
    notify_states(runs)
    return changed


def forget_progress(run: Run) -> None:
    """Rounds of the run it was; one that ends earlier would keep them at its end."""
    curves_forget(run=run.pk)
    Round.objects.filter(run=run).delete()
    Attempt.objects.filter(run=run).update(checkpoint="", checkpoint_round=None)
    run.rounds_done, run.engine, run.device_type = 0, "", ""
