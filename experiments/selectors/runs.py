"""Runs: of a study, in the queue, and one by one."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Case, Count, F, IntegerField, Max, Min, Prefetch, Value, When

from experiments.models import Membership, Run, RunState, Study
from experiments.services.reasons import first_line

PAGE = 100
QUEUE_LIMIT = 200


@dataclass(frozen=True)
class FailureGroup:
    reason: str
    runs: int
    example: int


@dataclass(frozen=True)
class QueueRow:
    run: Run
    studies: list[Study]


def study_runs(*, study: int, state: str = "", page: int = 1) -> list[Membership]:
    members = Membership.objects.filter(study_id=study).select_related("run").order_by("position")
    if state:
        members = members.filter(run__state=state)
    return list(members[(page - 1) * PAGE : page * PAGE])


def failures(*, study: int) -> list[FailureGroup]:
    """Failed runs by the first line of their reason, the commonest first."""
    failed = Run.objects.filter(memberships__study=study, state=RunState.FAILED).order_by()
    groups: dict[str, FailureGroup] = {}
    for row in failed.values("reason").annotate(runs=Count("pk"), example=Min("pk")):
        reason = first_line(row["reason"])
        before = groups.get(reason, FailureGroup(reason, 0, row["example"]))
        groups[reason] = FailureGroup(reason, before.runs + row["runs"], min(before.example, row["example"]))
    return sorted(groups.values(), key=lambda group: (-group.runs, group.reason))


def queue_rows() -> list[QueueRow]:
    """Running runs first, then queued ones in the order in which workers take them."""
    rank = Case(When(state=RunState.RUNNING, then=Value(0)), default=Value(1), output_field=IntegerField())
    waiting = (
        Run.objects.filter(state__in=[RunState.RUNNING, RunState.QUEUED])
        .annotate(rank=rank, priority=Max("studies__priority"), study=Min("studies__pk"), turn=Min("memberships__turn"))
        .order_by("rank", F("priority").desc(nulls_last=True), "study", "turn", "pk")
        .select_related("worker")
        .prefetch_related(Prefetch("studies", Study.objects.select_related("owner").order_by("pk")))
    )
    return [QueueRow(run, list(run.studies.all())) for run in waiting[:QUEUE_LIMIT]]


def queue_counts() -> dict[str, int]:
    states = [RunState.RUNNING, RunState.QUEUED]
    return dict(Run.objects.filter(state__in=states).order_by().values_list("state").annotate(runs=Count("pk")))
