from __future__ import annotations

import math

from experiments.compare.charts.values import Wanted
from experiments.compare.samples import gathered, one_column, sample
from experiments.compare.selectors.cells import PickedRun
from experiments.compare.selectors.values import RunValue
from experiments.statistics.intervals import Sample


def test_runs_become_the_seeds_of_their_cell() -> None:
    runs = {1: PickedRun(1, "a", 0, "done"), 2: PickedRun(2, "a", 7, "done"), 3: PickedRun(3, "b", 0, "done")}
    values = [RunValue(1, 0.5), RunValue(2, math.nan), RunValue(3, None)]
    assert gathered(values, runs) == {
        ("a", 0): Sample({0: 0.5}, lost=1),
        ("b", 0): Sample({}, missed=1),
    }


def test_a_seed_that_ran_twice_counts_once() -> None:
    assert sample({0: [0.5, 0.75], 1: [1.0]}) == Sample({0: 0.625, 1: 1.0})


def test_of_several_rounds_charts_take_the_last() -> None:
    samples = {("a", 5): Sample({0: 0.1}), ("a", 20): Sample({0: 0.9}), ("b", 5): Sample({0: 0.2})}
    assert one_column(samples, Wanted("at", at=(5, 20))) == {"a": Sample({0: 0.9})}
