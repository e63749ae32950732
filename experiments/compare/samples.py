"""One number per run, gathered into samples: the seeds of each cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from experiments.compare.charts.curves import X_AXES
from experiments.compare.charts.values import Wanted
from experiments.compare.choices import Choices
from experiments.compare.selection import Picked
from experiments.compare.selectors.cells import PickedRun
from experiments.compare.selectors.values import (
    RunValue,
    best_values,
    final_values,
    last_values,
    reached,
    totals,
    values_at,
)
from experiments.labels.metrics import metric_label
from experiments.statistics.intervals import Sample

Samples = dict[tuple[str, int], Sample]


def samples_of(picked: Picked, choices: Choices) -> Samples:
    """By cell and column; a column is a round where rounds were asked for, otherwise 0."""
    return gathered(run_values(list(picked.runs), choices.metric, choices.wanted), picked.runs)


def run_values(runs: Sequence[int], metric: str, wanted: Wanted) -> list[RunValue]:
    label = metric_label(metric)
    if wanted.to_target:
        return to_target(runs, metric, wanted)
    if wanted.kind == "at":
        return values_at(runs=runs, metric=metric, at=wanted.at)
    if wanted.kind == "last":
        return last_values(runs=runs, metric=metric, last=wanted.last)
    if wanted.kind == "best":
        return best_values(runs=runs, metric=metric, higher=label.higher_is_better)
    return final_values(runs=runs, metric=metric)


def to_target(runs: Sequence[int], metric: str, wanted: Wanted) -> list[RunValue]:
    """Without a target there is nothing to reach."""
    if wanted.target is None:
        return []
    label = metric_label(metric)
    spent = () if wanted.kind == "rounds" else X_AXES[wanted.kind].spent
    return reached(
        runs=runs, metric=metric, target=wanted.target / label.scale, higher=label.higher_is_better, spent=spent
    )


def gathered(values: Iterable[RunValue], runs: Mapping[int, PickedRun]) -> Samples:
    """Seeds that ran twice count once, with their mean."""
    found: dict[tuple[str, int], dict[int, list[float | None]]] = {}
    for each in values:
        run = runs[each.run]
        found.setdefault((run.cell, each.column), {}).setdefault(run.seed, []).append(each.value)
    return {key: sample(seeds) for key, seeds in found.items()}


def sample(seeds: Mapping[int, Sequence[float | None]]) -> Sample:
    finite = {
        seed: [value for value in values if value is not None and math.isfinite(value)]
        for seed, values in seeds.items()
    }
    every = [value for values in seeds.values() for value in values]
    return Sample(
        {seed: math.fsum(values) / len(values) for seed, values in finite.items() if values},
        lost=sum(value is not None and not math.isfinite(value) for value in every),
        missed=sum(value is None for value in every),
    )


def one_column(samples: Samples, wanted: Wanted) -> dict[str, Sample]:
    """For charts that take one value per cell: of several rounds, the last."""
    column = max(wanted.columns, default=0)
    return {cell: each for (cell, here), each in samples.items() if here == column}


def spent_samples(picked: Picked, spent: Sequence[str], wanted: Wanted) -> dict[str, Sample]:
    """What each seed spent in all, or up to the round that is looked at."""
    until = max(wanted.at, default=None) if wanted.kind == "at" else None
    done = [run.pk for run in picked.runs.values() if run.state == "done" or until is not None]
    return {
        cell: each for (cell, _), each in gathered(totals(runs=done, spent=spent, until=until), picked.runs).items()
    }
