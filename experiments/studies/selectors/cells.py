"""The cells of studies: runs that differ only in seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Min, Q

from experiments.models import Membership, RunState
from experiments.results.selectors.runs import RunSpecification, specs_of
from experiments.statistics.curves import metric_names

SAMPLED_CELLS = 40


@dataclass(frozen=True)
class Cell:
    key: str
    study: int
    of_run: RunSpecification
    first_run: int
    seeds: int
    done: int

    @property
    def spec(self) -> dict[str, Any]:
        return self.of_run.spec

    @property
    def flat(self) -> dict[str, Any]:
        return self.of_run.flat


def cells_of(*, studies: Sequence[int]) -> list[Cell]:
    """In the order of the studies and their grids. All runs of a cell have the same spec but for the seed."""
    members = Membership.objects.filter(study_id__in=list(studies)).order_by()
    counted = members.values(cell=F("run__cell")).annotate(
        study=Min("study_id"),
        place=Min("position"),
        first=Min("run_id"),
        seeds=Count("run__seed", distinct=True),
        done=Count("run__seed", distinct=True, filter=Q(run__state=RunState.DONE)),
    )
    rows = {row["cell"]: row for row in counted.order_by("study", "place")}
    specs = specs_of([row["first"] for row in rows.values()])
    return [
        Cell(key, row["study"], specs[row["first"]], row["first"], row["seeds"], row["done"])
        for key, row in rows.items()
        if row["first"] in specs  # not deleted meanwhile
    ]


def measured_metrics(cells: Sequence[Cell]) -> list[str]:
    """The metrics that the cells' first runs have; strategies may add their own."""
    return metric_names(runs=[cell.first_run for cell in cells[:SAMPLED_CELLS]])
