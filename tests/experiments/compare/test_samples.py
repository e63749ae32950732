from __future__ import annotations

import math

from experiments.compare.charts.values import ValueChoice
from experiments.compare.samples import one_column, samples_by_cell
from experiments.compare.selectors.cells import SelectedRun
from experiments.compare.selectors.values import RunValue
from experiments.statistics.over_seeds import Sample, merge_seeds


def test_runs_become_the_seeds_of_their_cell() -> None:
    runs = {1: SelectedRun(1, "a", 0, "done"), 2: SelectedRun(2, "a", 7, "done"), 3: SelectedRun(3, "b", 0, "done")}
    values = [RunValue(1, 0.5), RunValue(2, math.nan), RunValue(3, None)]
    assert samples_by_cell(values, runs) == {
        ("a", 0): Sample({0: 0.5}, diverged=frozenset({7})),
        ("b", 0): Sample({}, missing=frozenset({0})),
    }


def test_a_seed_that_ran_twice_counts_once() -> None:
    assert merge_seeds({0: [0.5, 0.75], 1: [1.0]}) == Sample({0: 0.625, 1: 1.0})


def test_of_several_rounds_charts_take_the_last() -> None:
    samples = {("a", 5): Sample({0: 0.1}), ("a", 20): Sample({0: 0.9}), ("b", 5): Sample({0: 0.2})}
    assert one_column(samples, ValueChoice("at", at=(5, 20))) == {"a": Sample({0: 0.9})}
