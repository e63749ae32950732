"""One number per run, gathered into samples: the seeds of each cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from experiments.compare.charts.curves import X_AXES
from experiments.compare.charts.values import ValueChoice
from experiments.compare.choices import Choices
from experiments.compare.selection import Selection
from experiments.compare.selectors.cells import SelectedRun
from experiments.compare.selectors.values import (
    RunValue,
    best_values,
    final_values,
    last_values,
    target_values,
    total_values,
    values_at,
)
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import Sample, Seed, merge_seeds, with_missing_seeds

Samples = dict[tuple[str, int], Sample]


def samples_of(selection: Selection, choices: Choices) -> Samples:
    """By cell and column; a column is a round where rounds were asked for, otherwise 0."""
    values = run_values(list(selection.runs), choices.metric, choices.value)
    return samples_by_cell(values, selection.runs, choices.value.columns)


def run_values(runs: Sequence[int], metric: str, choice: ValueChoice) -> list[RunValue]:
    label = metric_label(metric)
    if choice.to_target:
        return to_target(runs, metric, choice)
    if choice.kind == "at":
        return values_at(runs=runs, metric=metric, at=choice.at)
    if choice.kind == "last":
        return last_values(runs=runs, metric=metric, last=choice.last)
    if choice.kind == "best":
        return best_values(runs=runs, metric=metric, higher=label.higher_is_better)
    return final_values(runs=runs, metric=metric)


def to_target(runs: Sequence[int], metric: str, choice: ValueChoice) -> list[RunValue]:
    """Without a target there is nothing to reach."""
    if choice.target is None:
        return []
    label = metric_label(metric)
    spent = () if choice.kind == "rounds" else X_AXES[choice.kind].spent
    return target_values(
        runs=runs, metric=metric, target=choice.target / label.scale, higher=label.higher_is_better, spent=spent
    )


def samples_by_cell(
    values: Iterable[RunValue], runs: Mapping[int, SelectedRun], columns: Sequence[int] = (0,)
) -> Samples:
    """By cell and column; runs of one seed count once, and seeds of a cell that ended without a value are missing."""
    values_by_seed: dict[tuple[str, int], dict[Seed, list[float | None]]] = {}
    for each in values:
        run = runs[each.run]
        values_by_seed.setdefault((run.cell, each.column), {}).setdefault(run.seed, []).append(each.value)
    if not values_by_seed:
        return {}
    states: dict[str, list[tuple[Seed, str]]] = {}
    for run in runs.values():
        states.setdefault(run.cell, []).append((run.seed, run.state))
    samples = {
        (cell, column): merge_seeds(with_missing_seeds(values_by_seed.get((cell, column), {}), states[cell]))
        for cell in states
        for column in columns
    }
    return {key: sample for key, sample in samples.items() if sample.every_seed}


def one_column(samples: Samples, choice: ValueChoice) -> dict[str, Sample]:
    """For charts that take one value per cell: of several rounds, the last."""
    column = max(choice.columns, default=0)
    return {cell: each for (cell, here), each in samples.items() if here == column}


def spent_samples(selection: Selection, spent: Sequence[str], choice: ValueChoice) -> dict[str, Sample]:
    """What each seed spent in all, or up to the round that is looked at."""
    until = max(choice.at, default=None) if choice.kind == "at" else None
    done = [run.pk for run in selection.runs.values() if run.state == "done" or until is not None]
    return {
        cell: each
        for (cell, _), each in samples_by_cell(
            total_values(runs=done, spent=spent, until=until), selection.runs
        ).items()
    }
