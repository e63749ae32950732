"""Means and spreads over a cell's seeds, computed in SQL over every stored value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, Count, F, Max, Min, Q, QuerySet, StdDev

from experiments.models import Membership, Metric, RunState

NOT_FINITE = Q(value__in=[float("nan"), float("inf"), float("-inf")])
OVER_SEEDS: dict[str, Any] = {
    "mean": Avg("value", filter=~NOT_FINITE),
    "std": StdDev("value", sample=True, filter=~NOT_FINITE),
    "low": Min("value", filter=~NOT_FINITE),
    "high": Max("value", filter=~NOT_FINITE),
    "n": Count("value", filter=~NOT_FINITE),
    "lost": Count("value", filter=NOT_FINITE),
}


@dataclass(frozen=True)
class SeedStatistics:
    """Over the seeds of one cell at one round. `std` has ddof 1 and is None for one seed; `lost` are not finite."""

    cell: str
    round: int
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    n: int
    lost: int


def runs_of(studies: Iterable[int]) -> QuerySet[Membership, Any]:
    """As a subquery of ids, so that a run that several of the studies hold counts once."""
    return Membership.objects.filter(study_id__in=list(studies)).order_by().values("run_id")


def curve_statistics(*, studies: Sequence[int], metric: str, cells: Sequence[str]) -> list[SeedStatistics]:
    values = Metric.objects.filter(name=metric, run_id__in=runs_of(studies), run__cell__in=list(cells))
    grouped = values.values("round", cell=F("run__cell")).annotate(**OVER_SEEDS).order_by("cell", "round")
    return [SeedStatistics(**row) for row in grouped]


def run_curve(*, run: int, metric: str) -> list[SeedStatistics]:
    """One run in the same shape, so that a run page draws with the study page's chart."""
    values = Metric.objects.filter(name=metric, run_id=run)
    grouped = values.values("round", cell=F("run__cell")).annotate(**OVER_SEEDS).order_by("round")
    return [SeedStatistics(**row) for row in grouped]


def final_statistics(*, studies: Sequence[int], metric: str) -> dict[str, SeedStatistics]:
    """Per cell: the last round's value of its finished seeds. Reruns and early stops may end at different rounds."""
    values = Metric.objects.filter(
        name=metric, run_id__in=runs_of(studies), run__state=RunState.DONE, round=F("run__rounds_done")
    )
    grouped = values.values(cell=F("run__cell")).annotate(last=Max("round"), **OVER_SEEDS)
    return {row["cell"]: SeedStatistics(round=row.pop("last"), **row) for row in grouped}


def best_finals(*, studies: Sequence[int], metric: str = "accuracy") -> dict[int, SeedStatistics]:
    """Per study: the finished cell with the highest mean."""
    values = Metric.objects.filter(
        name=metric,
        run__memberships__study__in=list(studies),
        run__state=RunState.DONE,
        round=F("run__rounds_done"),
    )
    grouped = values.values(study=F("run__memberships__study"), cell=F("run__cell"))
    best: dict[int, SeedStatistics] = {}
    for row in grouped.annotate(last=Max("round"), **OVER_SEEDS):
        study, found = row.pop("study"), SeedStatistics(round=row.pop("last"), **row)
        if found.mean is not None and (study not in best or found.mean > (best[study].mean or 0.0)):
            best[study] = found
    return best


def metric_names(*, runs: Sequence[int]) -> list[str]:
    """The metrics that some of these runs have; callers pass a few runs, because every row of theirs is looked at."""
    return list(Metric.objects.filter(run_id__in=list(runs)).order_by("name").values_list("name", flat=True).distinct())
