"""Statistics over seeds, in SQL and in Python, against numbers worked out by hand and by numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from experiments.export.columns import read_run_columns
from experiments.export.tables.summaries import summary_table
from experiments.models import Run, RunState, Study, User
from experiments.results.selectors.summaries import study_summary
from experiments.results.services.curves import values_write
from experiments.statistics.curves import (
    curve_statistics,
    metric_names,
    runs_by_cell,
)
from experiments.statistics.finals import best_finals, final_statistics
from experiments.statistics.over_seeds import Sample, SeedStatistics, merge_seeds
from experiments.studies.services.launch import study_launch
from tests.experiments import lab


def by_cell(runs: Sequence[Run]) -> dict[str, list[int]]:
    cells: dict[str, list[int]] = {}
    for run in runs:
        cells.setdefault(run.cell, []).append(run.pk)
    return cells


def test_it_takes_mean_sample_std_range_and_count_per_cell_and_round(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))
    for run, accuracy in zip(runs[:3], ([0.5, 1.0], [0.5, 2.0], [0.5, 6.0]), strict=True):
        lab.record(run, {"accuracy": accuracy})
    cell = runs[0].cell
    # 1, 2 and 6: mean 3, squared deviations 4 + 1 + 9 = 14, over n - 1 = 2 that is 7.
    assert curve_statistics(cells=by_cell(runs[:3]), metric="accuracy") == [
        SeedStatistics(cell, 0, 0.5, 0.0, 0.5, 0.5, 3, 0, x=0.0),
        SeedStatistics(cell, 1, 3.0, pytest.approx(math.sqrt(7)), 1.0, 6.0, 3, 0, x=1.0),
    ]


def test_it_agrees_with_numpy_over_every_seed_and_round(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))[:3]
    values = np.random.default_rng(0).normal(size=(3, 6))
    for run, row in zip(runs, values.tolist(), strict=True):
        lab.record(run, {"loss": row})
    points = curve_statistics(cells=by_cell(runs), metric="loss")
    assert [each.round for each in points] == list(range(6))
    assert [each.x for each in points] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert [each.mean for each in points] == pytest.approx(values.mean(axis=0).tolist())
    assert [each.std for each in points] == pytest.approx(values.std(axis=0, ddof=1).tolist())
    assert [each.low for each in points] == values.min(axis=0).tolist()
    assert [each.high for each in points] == values.max(axis=0).tolist()
    assert {(each.n, each.lost) for each in points} == {(3, 0)}


def test_missing_seeds_nan_and_unequal_rounds(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))
    lab.record(runs[0], {"loss": [4.0, 2.0, 1.0]})
    lab.record(runs[1], {"loss": [2.0, math.nan]}, RunState.RUNNING)
    lab.record(runs[3], {"loss": [math.inf]})
    first, second = runs[0].cell, runs[3].cell
    assert curve_statistics(cells=by_cell(runs), metric="loss", with_values=True) == [
        SeedStatistics(first, 0, 3.0, pytest.approx(math.sqrt(2)), 2.0, 4.0, 2, 0, 0.0, (4.0, 2.0)),
        SeedStatistics(first, 1, 2.0, None, 2.0, 2.0, 1, 1, 1.0, (2.0,)),
        SeedStatistics(first, 2, 1.0, None, 1.0, 1.0, 1, 0, 2.0, (1.0,)),
        SeedStatistics(second, 0, None, None, None, None, 0, 1, 0.0, ()),
    ]


def test_over_bytes_a_point_stands_at_the_mean_of_what_its_seeds_had_sent(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))[:2]
    lab.record(runs[0], {"accuracy": [0.1, 0.5, 0.75], "bytes_up": [0.0, 10.0, 10.0], "bytes_down": [0.0, 5.0, 5.0]})
    lab.record(runs[1], {"accuracy": [0.3, 0.7], "bytes_up": [4.0, 20.0], "bytes_down": [0.0, 5.0]})
    points = curve_statistics(cells=by_cell(runs), metric="accuracy", spent=["bytes_up", "bytes_down", "bytes_peer"])
    # Totals by round: 0, 15, 30 and 4, 29.
    assert [(each.round, each.x, each.n) for each in points] == [(0, 2.0, 2), (1, 22.0, 2), (2, 30.0, 1)]
    assert [each.mean for each in points] == pytest.approx([0.2, 0.6, 0.75])


def test_what_does_not_add_up_is_told_of_each_round_as_it_is(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))[:2]
    lab.record(runs[0], {"accuracy": [0.1, 0.5, 0.75, 0.75], "privacy.epsilon": [math.inf, 1.0, 1.5, 1.75]})
    lab.record(runs[1], {"accuracy": [0.3, 0.7], "privacy.epsilon": [math.inf, 2.0]})
    points = curve_statistics(cells=by_cell(runs), metric="accuracy", spent=["privacy.epsilon"], adds_up=False)
    assert [(each.round, each.x, each.n) for each in points] == [(1, 1.5, 2), (2, 1.5, 1), (3, 1.75, 1)]


def test_what_was_never_recorded_has_no_place_on_its_axis(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))[:1]
    lab.record(runs[0], {"accuracy": [0.1, 0.5]})
    assert curve_statistics(cells=by_cell(runs), metric="accuracy", spent=["local_steps"]) == []


def test_a_run_that_two_studies_hold_counts_once(owner: User) -> None:
    first, second = lab.launched(owner, "One"), lab.launched(owner, "Two")
    runs = lab.runs_in_order(first)
    assert runs == lab.runs_in_order(second)
    lab.record(runs[0], {"accuracy": [0.25]})
    cells = runs_by_cell(studies=[first.pk, second.pk], cells=[runs[0].cell])
    assert cells == {runs[0].cell: [run.pk for run in runs[:3]]}
    assert [each.n for each in curve_statistics(cells=cells, metric="accuracy")] == [1]


def test_finals_are_the_last_rounds_of_finished_seeds(owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    lab.record(runs[0], {"accuracy": [0.0, 0.25, 0.5]})
    lab.record(runs[1], {"accuracy": [0.0, 0.75]})
    lab.record(runs[2], {"accuracy": [0.0, 0.9]}, RunState.RUNNING)
    cell = runs[0].cell
    assert final_statistics(studies=[study.pk], metric="accuracy") == {
        study.pk: {
            cell: SeedStatistics(cell, 2, 0.625, pytest.approx(math.sqrt(0.03125)), 0.5, 0.75, 2, 0, 2.0, (0.5, 0.75))
        }
    }


def test_the_best_final_is_that_of_the_best_cell(owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    lab.record(runs[0], {"accuracy": [0.5]})
    lab.record(runs[3], {"accuracy": [0.75]})
    assert best_finals(studies=[study.pk]) == {
        study.pk: SeedStatistics(runs[3].cell, 0, 0.75, None, 0.75, 0.75, 1, 0, 0.0, (0.75,))
    }


def test_it_lists_the_metrics_that_runs_have(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))
    lab.record(runs[0], {"loss": [1.0], "accuracy": [0.5]})
    lab.record(runs[1], {"fedswap.swaps": [3.0]})
    assert metric_names(runs=[run.pk for run in runs]) == ["accuracy", "fedswap.swaps", "loss"]


def test_a_sample_merges_the_runs_of_a_seed_and_counts_what_is_lost_or_missed() -> None:
    sample = merge_seeds({0: [1.0, 3.0], 1: [4.0], 2: [math.inf], 3: [5.0, math.nan], 4: [None], 5: [], 6: [7.0, None]})
    assert sample == Sample({0: 2.0, 1: 4.0}, diverged=frozenset({2, 3}), missing=frozenset({4, 5, 6}))
    assert (sample.lost, sample.missed, len(sample.every_seed)) == (2, 3, 7)
    # 2 and 4: mean 3, squared deviations 1 + 1 = 2, over n - 1 = 1.
    assert (sample.n, sample.mean, sample.std, sample.low, sample.high) == (2, 3.0, math.sqrt(2), 2.0, 4.0)
    assert (merge_seeds({}).mean, merge_seeds({}).std, merge_seeds({}).low) == (None, None, None)


def computed_twice(owner: User) -> tuple[Study, Study]:
    """Three seeds of one cell, computed by two studies that share no run."""
    block = {**lab.BLOCK, "strategy": {"name": "fedavg"}}
    studies = tuple(
        study_launch(owner=owner, name=name, blocks=[block], requires="gpu", reuse=False) for name in ("One", "Again")
    )
    for study, values in zip(studies, ((1.0, 2.0, 6.0), (1.0, 4.0, 8.0)), strict=True):
        for run, value in zip(lab.runs_in_order(study), values, strict=True):
            lab.record(run, {"accuracy": [value]})
    return studies[0], studies[1]


def test_a_seed_that_was_computed_twice_counts_once_in_curves_and_exports(owner: User) -> None:
    studies = computed_twice(owner)
    runs = [run for study in studies for run in lab.runs_in_order(study)]
    (cell,) = by_cell(runs)
    # Seeds 0, 1 and 2 have 1, 3 and 7: mean 11/3, squared deviations (64 + 4 + 100) / 9, over 2 that is 28/3.
    mean, std = pytest.approx(11 / 3), pytest.approx(math.sqrt(28 / 3))
    assert curve_statistics(cells=by_cell(runs), metric="accuracy", with_values=True) == [
        SeedStatistics(cell, 0, mean, std, 1.0, 7.0, 3, 0, 0.0, (1.0, 3.0, 7.0))
    ]
    table = summary_table(read_run_columns(Run.objects.all()), ["accuracy"])
    rows = [row for batch in table.batches for row in batch.to_pylist()]
    assert [(row["mean"], row["std"], row["min"], row["max"], row["n"]) for row in rows] == [(mean, std, 1.0, 7.0, 3)]


def test_a_seed_of_which_one_run_diverged_is_lost_whatever_the_other_gave(owner: User) -> None:
    first, second = computed_twice(owner)
    lost = lab.runs_in_order(second)[2]
    values_write((lost.pk, each.round, each.name, math.nan) for each in lost.metrics.all())
    runs = [*lab.runs_in_order(first), *lab.runs_in_order(second)]
    (point,) = curve_statistics(cells=by_cell(runs), metric="accuracy", with_values=True)
    assert (point.values, point.n, point.lost) == ((1.0, 3.0), 2, 1)


def test_a_group_of_several_cells_keeps_the_seeds_of_each_apart(owner: User) -> None:
    study = lab.launched(owner)
    for run, value in zip(lab.runs_in_order(study), (1.0, 2.0, 3.0, 4.0, 5.0, 9.0), strict=True):
        lab.record(run, {"accuracy": [value]})
    (row,) = study_summary(study=study.pk, by=["dataset"]).rows
    # Two cells of three seeds: six numbers with mean 4, squared deviations 9 + 4 + 1 + 0 + 1 + 25 = 40, over 5.
    assert (row.n, row.mean, row.std, row.low, row.high) == (6, 4.0, pytest.approx(math.sqrt(8)), 1.0, 9.0)
