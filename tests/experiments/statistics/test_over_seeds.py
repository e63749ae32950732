"""Statistics over seeds, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from experiments.models import RunState, User
from experiments.statistics.over_seeds import (
    SeedStatistics,
    best_finals,
    curve_statistics,
    final_statistics,
    metric_names,
    run_curve,
)
from tests.experiments import lab


def test_it_takes_mean_sample_std_range_and_count_per_cell_and_round(owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    for run, accuracy in zip(runs[:3], ([0.5, 1.0], [0.5, 2.0], [0.5, 6.0]), strict=True):
        lab.record(run, {"accuracy": accuracy})
    cell = runs[0].cell
    # 1, 2 and 6: mean 3, squared deviations 4 + 1 + 9 = 14, over n - 1 = 2 that is 7.
    assert curve_statistics(studies=[study.pk], metric="accuracy", cells=[cell]) == [
        SeedStatistics(cell, 0, 0.5, 0.0, 0.5, 0.5, 3, 0),
        SeedStatistics(cell, 1, 3.0, pytest.approx(math.sqrt(7)), 1.0, 6.0, 3, 0),
    ]


def test_seeds_that_lag_behind_are_missing_from_the_later_rounds_only(owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    lab.record(runs[0], {"loss": [4.0, 2.0]})
    lab.record(runs[1], {"loss": [2.0]}, RunState.RUNNING)
    cell = runs[0].cell
    assert curve_statistics(studies=[study.pk], metric="loss", cells=[cell]) == [
        SeedStatistics(cell, 0, 3.0, pytest.approx(math.sqrt(2)), 2.0, 4.0, 2, 0),
        SeedStatistics(cell, 1, 2.0, None, 2.0, 2.0, 1, 0),
    ]


def test_values_that_are_not_finite_are_counted_and_left_out(owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    for run, value in zip(runs[:3], (math.nan, math.inf, 5.0), strict=True):
        lab.record(run, {"loss": [value]})
    for run in runs[3:]:
        lab.record(run, {"loss": [-math.inf]})
    found = curve_statistics(studies=[study.pk], metric="loss", cells=[runs[0].cell, runs[3].cell])
    assert sorted(found, key=lambda each: each.cell != runs[0].cell) == [
        SeedStatistics(runs[0].cell, 0, 5.0, None, 5.0, 5.0, 1, 2),
        SeedStatistics(runs[3].cell, 0, None, None, None, None, 0, 3),
    ]


def test_a_run_that_two_studies_hold_counts_once(owner: User) -> None:
    first, second = lab.launched(owner, "One"), lab.launched(owner, "Two")
    runs = lab.runs_in_order(first)
    assert runs == lab.runs_in_order(second)
    lab.record(runs[0], {"accuracy": [0.25]})
    found = curve_statistics(studies=[first.pk, second.pk], metric="accuracy", cells=[runs[0].cell])
    assert [each.n for each in found] == [1]


def test_finals_are_the_last_rounds_of_finished_seeds(owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    lab.record(runs[0], {"accuracy": [0.0, 0.25, 0.5]})
    lab.record(runs[1], {"accuracy": [0.0, 0.75]})
    lab.record(runs[2], {"accuracy": [0.0, 0.9]}, RunState.RUNNING)
    cell = runs[0].cell
    assert final_statistics(studies=[study.pk], metric="accuracy") == {
        cell: SeedStatistics(cell, 2, 0.625, pytest.approx(math.sqrt(0.03125)), 0.5, 0.75, 2, 0)
    }


def test_the_best_final_is_that_of_the_best_cell(owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    lab.record(runs[0], {"accuracy": [0.5]})
    lab.record(runs[3], {"accuracy": [0.75]})
    assert best_finals(studies=[study.pk]) == {study.pk: SeedStatistics(runs[3].cell, 0, 0.75, None, 0.75, 0.75, 1, 0)}


def test_one_run_has_the_shape_of_a_cell_of_one(owner: User) -> None:
    run = lab.record(lab.runs_in_order(lab.launched(owner))[0], {"loss": [1.5, math.nan]})
    assert run_curve(run=run.pk, metric="loss") == [
        SeedStatistics(run.cell, 0, 1.5, None, 1.5, 1.5, 1, 0),
        SeedStatistics(run.cell, 1, None, None, None, None, 0, 1),
    ]


def test_it_lists_the_metrics_that_runs_have(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))
    lab.record(runs[0], {"loss": [1.0], "accuracy": [0.5]})
    lab.record(runs[1], {"fedswap.swaps": [3.0]})
    assert metric_names(runs=[run.pk for run in runs]) == ["accuracy", "fedswap.swaps", "loss"]
