"""Curves against numbers by hand and by numpy: missing seeds, NaN, unequal rounds, one seed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.models import Run, RunState, User
from experiments.statistics.over_seeds import CurveStatistics, curves_of
from tests.experiments import lab


def cells(runs: list[Run]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for run in runs:
        found.setdefault(run.cell, []).append(run.pk)
    return found


def test_it_agrees_with_numpy_over_every_seed_and_round(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))[:3]
    values = np.random.default_rng(0).normal(size=(3, 6))
    for run, row in zip(runs, values.tolist(), strict=True):
        lab.record(run, {"loss": row})
    found = curves_of(cells=cells(runs), metric="loss")
    assert [each.round for each in found] == list(range(6))
    assert [each.x for each in found] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert [each.mean for each in found] == pytest.approx(values.mean(axis=0).tolist())
    assert [each.std for each in found] == pytest.approx(values.std(axis=0, ddof=1).tolist())
    assert [each.low for each in found] == values.min(axis=0).tolist()
    assert [each.high for each in found] == values.max(axis=0).tolist()
    assert {(each.n, each.lost) for each in found} == {(3, 0)}


def test_missing_seeds_nan_and_unequal_rounds(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))
    lab.record(runs[0], {"loss": [4.0, 2.0, 1.0]})
    lab.record(runs[1], {"loss": [2.0, math.nan]}, RunState.RUNNING)
    lab.record(runs[3], {"loss": [math.inf]})
    first, second = runs[0].cell, runs[3].cell
    assert curves_of(cells=cells(runs), metric="loss", with_values=True) == [
        CurveStatistics(first, 0, 3.0, pytest.approx(math.sqrt(2)), 2.0, 4.0, 2, 0, 0.0, (4.0, 2.0)),
        CurveStatistics(first, 1, 2.0, None, 2.0, 2.0, 1, 1, 1.0, (2.0,)),
        CurveStatistics(first, 2, 1.0, None, 1.0, 1.0, 1, 0, 2.0, (1.0,)),
        CurveStatistics(second, 0, None, None, None, None, 0, 1, 0.0, ()),
    ]


def test_over_bytes_a_point_stands_at_the_mean_of_what_its_seeds_had_sent(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))[:2]
    lab.record(runs[0], {"accuracy": [0.1, 0.5, 0.75], "bytes_up": [0.0, 10.0, 10.0], "bytes_down": [0.0, 5.0, 5.0]})
    lab.record(runs[1], {"accuracy": [0.3, 0.7], "bytes_up": [4.0, 20.0], "bytes_down": [0.0, 5.0]})
    found = curves_of(cells=cells(runs), metric="accuracy", spent=["bytes_up", "bytes_down", "bytes_peer"])
    # Totals by round: 0, 15, 30 and 4, 29.
    assert [(each.round, each.x, each.n) for each in found] == [(0, 2.0, 2), (1, 22.0, 2), (2, 30.0, 1)]
    assert [each.mean for each in found] == pytest.approx([0.2, 0.6, 0.75])


def test_what_was_never_recorded_has_no_place_on_its_axis(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))[:1]
    lab.record(runs[0], {"accuracy": [0.1, 0.5]})
    assert curves_of(cells=cells(runs), metric="accuracy", spent=["local_steps"]) == []
