"""Runs of a study, why they failed, and their specs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from django.db.models import Count, DurationField, ExpressionWrapper, F, FloatField, Max, Min, Subquery
from django.db.models.expressions import Expression, OrderBy

from experiments.models import Membership, Run, RunState
from experiments.results.selectors.latest import latest_values
from workers.spec import flatten

PAGE = 100


@dataclass(frozen=True)
class FailureGroup:
    reason: str
    runs: int
    example: int


RUN_ORDERS: dict[str, F | Expression] = {
    "run": F("run_id"),
    "seed": F("run__seed"),
    "state": F("run__state"),
    "rounds": F("run__rounds_done"),
    "took": ExpressionWrapper(F("run__finished") - F("run__started"), DurationField()),
}
"""What runs are sorted by, besides their numbers."""


@dataclass(frozen=True)
class StudyRun:
    """A run in its study, and the latest value of each metric that was asked for."""

    member: Membership
    values: list[float | None]

    @property
    def took(self) -> timedelta | None:
        run = self.member.run
        return run.finished - run.started if run.finished and run.started else None


def study_runs(
    *,
    study: int,
    state: str = "",
    page: int = 1,
    metrics: Sequence[str] = (),
    sort: str = "",
    cells: Sequence[str] | None = None,
) -> list[StudyRun]:
    """In the grid's order, or sorted by a name of `RUN_ORDERS` or one of the metrics, with a minus the highest first;
    `cells` narrows them."""
    members = Membership.objects.filter(study_id=study).select_related("run")
    members = members.defer("run__spec", "run__findings", "run__provenance")
    if state:
        members = members.filter(run__state=state)
    if cells is not None:
        members = members.filter(run__cell__in=cells)
    latest = {f"value_{place}": latest_value(name) for place, name in enumerate(metrics)}
    ordered = members.annotate(**latest).order_by(*run_order(sort, metrics), "position")
    rows = ordered[(page - 1) * PAGE : page * PAGE]
    return [StudyRun(member, [getattr(member, name) for name in latest]) for member in rows]


def latest_value(metric: str) -> Subquery:
    values = latest_values(name=metric, run="run_id")
    return Subquery(values[:1], output_field=FloatField())


def run_order(sort: str, metrics: Sequence[str]) -> list[OrderBy]:
    name = sort.removeprefix("-")
    column = F(f"value_{metrics.index(name)}") if name in metrics else RUN_ORDERS.get(name)
    if column is None:
        return []
    return [OrderBy(column, descending=sort.startswith("-"), nulls_last=True)]


def failure_groups(*, study: int) -> list[FailureGroup]:
    """Failed runs by the first line of their reason, the commonest first."""
    failed = Run.objects.filter(memberships__study=study, state=RunState.FAILED).order_by()
    groups: dict[str, FailureGroup] = {}
    for row in failed.values("reason").annotate(runs=Count("pk"), example=Min("pk")):
        reason = first_line(row["reason"])
        before = groups.get(reason, FailureGroup(reason, 0, row["example"]))
        groups[reason] = FailureGroup(reason, before.runs + row["runs"], min(before.example, row["example"]))
    return sorted(groups.values(), key=lambda group: (-group.runs, group.reason))


MOST_SPECS = 10_000
"""So many are kept, some 100 MB; then it begins anew."""
known_specs: dict[int, RunSpecification] = {}


class RunSpecification:
    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec

    @cached_property
    def flat(self) -> dict[str, Any]:
        return flatten(self.spec)


def specs_of(runs: Iterable[int]) -> dict[int, RunSpecification]:
    """By run; those that are not there any more are missing."""
    specs = {run: known_specs[run] for run in runs if run in known_specs}
    missing = [run for run in runs if run not in specs]
    rows = dict(Run.objects.filter(pk__in=missing).values_list("pk", "spec")) if missing else {}
    new_specs = {run: RunSpecification(spec) for run, spec in rows.items()}
    if len(known_specs) + len(new_specs) > MOST_SPECS:
        known_specs.clear()
    known_specs.update(new_specs)
    return specs | new_specs


def longest_run(runs: Sequence[int]) -> int:
    """Rounds of the longest of them, as far as is known."""
    longest: int | None = Run.objects.filter(pk__in=runs).aggregate(longest=Max("rounds_total"))["longest"]
    return longest or 0


UNKNOWN_REASON = "No reason was recorded."


def first_line(reason: str) -> str:
    return reason.strip().split("\n")[0].strip() or UNKNOWN_REASON
