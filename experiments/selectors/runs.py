"""Runs of a study, and why they failed."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Min

from experiments.models import Membership, Run, RunState
from experiments.services.reasons import first_line

PAGE = 100


@dataclass(frozen=True)
class FailureGroup:
    reason: str
    runs: int
    example: int


def study_runs(*, study: int, state: str = "", page: int = 1) -> list[Membership]:
    members = Membership.objects.filter(study_id=study).select_related("run").order_by("position")
    members = members.defer("run__spec", "run__findings", "run__provenance")
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
