"""One action on many runs or studies, in one transaction: what is allowed is done, the rest is refused with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Exists, OuterRef

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_launch
from experiments.core.database import Lock, lock_in_transaction
from experiments.models import Membership, Run, Study, User
from experiments.queue.services.retry import managed_studies, relaunch_runs
from experiments.queue.services.runs import ACTIVE, UNSUCCESSFUL, cancel_runs, equal_live_runs, requeue_runs
from experiments.queue.services.wake_up import wake_up_after_commit
from experiments.results.selectors.identity import changed_runs
from experiments.studies.services.changes import study_cancel, study_pause, study_resume, study_retry, study_update
from experiments.studies.services.launch import PRIORITIES
from workers.errors import TributaryError
from workers.spec import LOGGED

GONE = "deleted meanwhile"
ENDED = "already ended"
NOT_ENDED = "neither failed nor cancelled"
FOREIGN = "not yours alone: a colleague's study holds them"
LOGGED_ELSEWHERE = "logged by a script: start the script again"
EQUAL = "replaced by an equal run: retry their study"
STUDY_ACTIONS: dict[str, Callable[..., object]] = {
    "pause": study_pause,
    "resume": study_resume,
    "cancel": study_cancel,
    "retry": study_retry,
}


@dataclass
class BulkOutcome:
    """How many it was done to, and how many not, by reason."""

    done: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def runs_cancel(*, runs: Iterable[int], actor: User) -> BulkOutcome:
    """Queued ones are cancelled at once, running ones within seconds."""
    require_launch(actor)
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        outcome = BulkOutcome()
        active = runs_in_state(runs, ACTIVE, ENDED, outcome)
        foreign = Membership.objects.filter(run__in=active, study__cancelled=False).exclude(study__owner=actor)
        refused = set() if actor.is_lab_admin else member_runs(foreign) | runs_of_others(active, actor)
        allowed = refuse(active, refused, FOREIGN, outcome)
        outcome.done = cancel_runs(allowed)
        audit_record(actor=actor, action="run.cancel", subject=runs_text(outcome.done), runs=allowed)
    return outcome


def runs_retry(*, runs: Iterable[int], actor: User) -> BulkOutcome:
    """Each is queued again as a new attempt, from its last checkpoint; or launched as what its spec is now."""
    require_launch(actor)
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        outcome = BulkOutcome()
        ended = runs_in_state(runs, UNSUCCESSFUL, NOT_ENDED, outcome)
        allowed = refuse(ended, set() if actor.is_lab_admin else runs_of_others(ended, actor), FOREIGN, outcome)
        allowed = refuse(allowed, logged_runs(allowed), LOGGED_ELSEWHERE, outcome)
        changed = changed_runs(Run.objects.filter(pk__in=allowed).order_by("pk"))
        successors = relaunch_runs(changed, managed_studies(actor))
        same = [run for run in allowed if run not in successors]
        same = refuse(same, replaced_runs(same), EQUAL, outcome)
        outcome.done = requeue_runs(same) + len(successors)
        queued = [*same, *successors.values()]
        managed_studies(actor).filter(memberships__run__in=queued, cancelled=True).update(cancelled=False)
        audit_record(actor=actor, action="run.retry", subject=runs_text(len(same)), runs=same)
        if successors:
            subject = runs_text(len(successors))
            audit_record(actor=actor, action="run.relaunch", subject=subject, successors=successors)
        wake_up_after_commit(new=outcome.done)
    return outcome


def runs_text(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def runs_in_state(runs: Iterable[int], states: Sequence[str], otherwise: str, outcome: BulkOutcome) -> list[int]:
    """Those that are in one of the states, oldest first."""
    requested = set(runs)
    held = Exists(Membership.objects.filter(run=OuterRef("pk"), study__deleting=None))
    states_by_run = dict(Run.objects.filter(held, pk__in=requested).order_by("pk").values_list("pk", "state"))
    if gone := len(requested) - len(states_by_run):
        outcome.refused[GONE] += gone
    others = {run for run, state in states_by_run.items() if state not in states}
    return refuse(list(states_by_run), others, otherwise, outcome)


def refuse(runs: Sequence[int], refused: set[int], reason: str, outcome: BulkOutcome) -> list[int]:
    allowed = [run for run in runs if run not in refused]
    if len(allowed) < len(runs):
        outcome.refused[reason] += len(runs) - len(allowed)
    return allowed


def runs_of_others(runs: Sequence[int], actor: User) -> set[int]:
    """Those that no study of the person holds."""
    own = Membership.objects.filter(run__in=runs, study__owner=actor, study__deleting=None)
    return set(runs) - member_runs(own)


def member_runs(members: Iterable[Membership]) -> set[int]:
    return {member.run_id for member in members}


def logged_runs(runs: Sequence[int]) -> set[int]:
    return set(Run.objects.filter(pk__in=runs, spec__has_key=LOGGED).values_list("pk", flat=True))


def replaced_runs(runs: Sequence[int]) -> set[int]:
    """Those whose place a live run has taken, or another of these will."""
    shared = list(Run.objects.filter(pk__in=runs, shared=True).only("pk", "hash", "requires").order_by("pk"))
    live = equal_live_runs(shared)
    first: dict[tuple[str, str], int] = {}
    return {run.pk for run in shared if first.setdefault((run.hash, run.requires), live.get(run, run.pk)) != run.pk}


def studies_change(*, studies: Iterable[int], actor: User, action: str, priority: int | None = None) -> BulkOutcome:
    """`action`: pause, resume, cancel, retry, or priority with its new value."""
    require_launch(actor)
    if action == "priority" and priority not in PRIORITIES:
        raise TributaryError(f"A priority is a whole number from {PRIORITIES[0]} to {PRIORITIES[-1]}.")
    outcome, requested = BulkOutcome(), set(studies)
    with transaction.atomic():
        existing = list(Study.objects.filter(pk__in=requested).order_by("pk"))
        if gone := len(requested) - len(existing):
            outcome.refused[GONE] += gone
        for study in existing:
            change_study(study, actor, action, priority, outcome)
    return outcome


def change_study(study: Study, actor: User, action: str, priority: int | None, outcome: BulkOutcome) -> None:
    try:
        if action == "priority":
            study_update(study=study, actor=actor, priority=priority)
        else:
            STUDY_ACTIONS[action](study=study, actor=actor)
        outcome.done += 1
    except TributaryError as error:
        outcome.refused[error.detail.rstrip(".")] += 1
