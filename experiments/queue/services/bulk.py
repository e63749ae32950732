"""One action on many runs or studies, in one transaction: what is allowed is done, the rest is refused with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_launch
from experiments.core.database import Lock, lock_in_transaction
from experiments.models import Membership, Run, RunState, Study, User
from experiments.queue.services.runs import cancel_runs, live_equal, requeue_runs
from experiments.queue.services.wake_up import ring_after_commit
from experiments.studies.services.changes import study_cancel, study_pause, study_resume, study_retry, study_update
from experiments.studies.services.launch import PRIORITIES
from workers.errors import TributaryError

GONE = "deleted meanwhile"
ENDED = "already ended"
NOT_ENDED = "neither failed nor cancelled"
FOREIGN = "not yours alone: a colleague's study holds them"
EQUAL = "replaced by an equal run: retry their study"
ACTIVE = (RunState.QUEUED, RunState.RUNNING)
ENDED_BADLY = (RunState.FAILED, RunState.CANCELLED)
STUDY_ACTIONS: dict[str, Callable[..., object]] = {
    "pause": study_pause,
    "resume": study_resume,
    "cancel": study_cancel,
    "retry": study_retry,
}


@dataclass
class Outcome:
    """How many it was done to, and how many not, by reason."""

    done: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def runs_cancel(*, runs: Iterable[int], actor: User) -> Outcome:
    """Queued ones are cancelled at once, running ones within seconds."""
    require_launch(actor)
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        outcome = Outcome()
        found = in_state(runs, ACTIVE, ENDED, outcome)
        others = Membership.objects.filter(run__in=found, study__cancelled=False).exclude(study__owner=actor)
        allowed = refuse(found, set() if actor.is_lab_admin else held(others) | strange(found, actor), FOREIGN, outcome)
        outcome.done = cancel_runs(allowed)
        audit_record(actor=actor, action="run.cancel", subject=told(outcome.done), runs=allowed)
    return outcome


def runs_retry(*, runs: Iterable[int], actor: User) -> Outcome:
    """Each is queued again as a new attempt, from its last checkpoint."""
    require_launch(actor)
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        outcome = Outcome()
        found = in_state(runs, ENDED_BADLY, NOT_ENDED, outcome)
        allowed = refuse(found, set() if actor.is_lab_admin else strange(found, actor), FOREIGN, outcome)
        allowed = refuse(allowed, with_an_equal(allowed), EQUAL, outcome)
        outcome.done = requeue_runs(allowed)
        wanted_again = Study.objects.filter(memberships__run__in=allowed, cancelled=True)
        (wanted_again if actor.is_lab_admin else wanted_again.filter(owner=actor)).update(cancelled=False)
        audit_record(actor=actor, action="run.retry", subject=told(outcome.done), runs=allowed)
        ring_after_commit(new=outcome.done)
    return outcome


def told(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def in_state(runs: Iterable[int], states: Sequence[str], otherwise: str, outcome: Outcome) -> list[int]:
    """Those that are in one of the states, oldest first."""
    asked = set(runs)
    known = dict(Run.objects.filter(pk__in=asked).order_by("pk").values_list("pk", "state"))
    if gone := len(asked) - len(known):
        outcome.refused[GONE] += gone
    return refuse(list(known), {run for run, state in known.items() if state not in states}, otherwise, outcome)


def refuse(runs: Sequence[int], refused: set[int], reason: str, outcome: Outcome) -> list[int]:
    allowed = [run for run in runs if run not in refused]
    if len(allowed) < len(runs):
        outcome.refused[reason] += len(runs) - len(allowed)
    return allowed


def strange(runs: Sequence[int], actor: User) -> set[int]:
    """Those that no study of the person holds."""
    return set(runs) - held(Membership.objects.filter(run__in=runs, study__owner=actor))


def held(members: Iterable[Membership]) -> set[int]:
    return {member.run_id for member in members}


def with_an_equal(runs: Sequence[int]) -> set[int]:
    """Those whose place a live run has taken, or another of these will."""
    mine = list(Run.objects.filter(pk__in=runs, shared=True).only("pk", "hash").order_by("pk"))
    taken = live_equal(mine)
    return {run.pk for run in mine if taken.setdefault(run.hash, run.pk) != run.pk}


def studies_change(*, studies: Iterable[int], actor: User, action: str, priority: int | None = None) -> Outcome:
    """`action`: pause, resume, cancel, retry, or priority with its new value."""
    require_launch(actor)
    if action == "priority" and priority not in PRIORITIES:
        raise TributaryError(f"A priority is a whole number from {PRIORITIES[0]} to {PRIORITIES[-1]}.")
    outcome, asked = Outcome(), set(studies)
    with transaction.atomic():
        found = list(Study.objects.filter(pk__in=asked).order_by("pk"))
        if gone := len(asked) - len(found):
            outcome.refused[GONE] += gone
        for study in found:
            change(study, actor, action, priority, outcome)
    return outcome


def change(study: Study, actor: User, action: str, priority: int | None, outcome: Outcome) -> None:
    try:
        if action == "priority":
            study_update(study=study, actor=actor, priority=priority)
        else:
            STUDY_ACTIONS[action](study=study, actor=actor)
        outcome.done += 1
    except TributaryError as error:
        outcome.refused[error.detail.rstrip(".")] += 1
