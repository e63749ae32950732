"""Summaries, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from experiments.models import RunState, Study, User
from experiments.results.selectors.summaries import GroupStatistics, study_summary
from tests.experiments import lab


@pytest.fixture
def study(owner: User) -> Study:
    """fedavg: 0.8, 0.9, 1.0 at the end. fedprox: one done at 0.5, one done at NaN, one still at work."""
    made = lab.launched(owner)
    runs = lab.runs_in_order(made)
    for run, last in zip(runs[:5], (0.8, 0.9, 1.0, 0.5, math.nan), strict=True):
        lab.record(run, {"accuracy": [0.1, 0.4, last], "loss": [2.0, 1.0, 0.5 if last == 0.8 else 0.25]})
    lab.record(runs[5], {"accuracy": [0.1, 0.7], "loss": [2.0, 1.5]}, RunState.RUNNING)
    return made


def test_the_last_rounds_of_done_runs_are_summed_up_by_what_varies(study: Study) -> None:
    found = study_summary(study=study.pk)
    assert found.by == ["strategy", "strategy.every", "strategy.mu"]
    fedavg, fedprox = found.rows
    assert fedavg.group == {"strategy": "fedavg", "strategy.every": 1, "strategy.mu": None}
    assert (fedavg.round, fedavg.n, fedavg.lost, fedavg.low, fedavg.high, fedavg.best) == (2, 3, 0, 0.8, 1.0, True)
    assert fedavg.mean == pytest.approx(0.9)
    assert fedavg.std == pytest.approx(0.1)
    group = {"strategy": "fedprox", "strategy.every": None, "strategy.mu": 0.1}
    assert fedprox == GroupStatistics(group, 2, 0.5, None, 0.5, 0.5, 1, 1, best=False)


def test_rounds_are_those_asked_for_and_count_every_run_that_has_them(study: Study) -> None:
    found = study_summary(study=study.pk, by=["strategy"], rounds=[1, 0, 1, 9])
    told = [(row.group["strategy"], row.round, row.n, row.best) for row in found.rows]
    assert told == [("fedavg", 0, 3, True), ("fedprox", 0, 3, True), ("fedavg", 1, 3, False), ("fedprox", 1, 3, True)]
    assert found.rows[3].mean == pytest.approx(0.5)


def test_the_best_loss_is_the_lowest(study: Study) -> None:
    found = study_summary(study=study.pk, metric="loss", by=["strategy"])
    assert [(row.group["strategy"], row.best) for row in found.rows] == [("fedavg", False), ("fedprox", True)]
    assert found.rows[1].mean == pytest.approx(0.25)


def test_grouping_by_what_does_not_vary_makes_one_group(study: Study) -> None:
    (row,) = study_summary(study=study.pk, by=["dataset"]).rows
    assert (row.group, row.n, row.lost) == ({"dataset": "digits"}, 4, 1)
    assert row.mean == pytest.approx(0.8)


def test_a_study_without_numbers_has_no_rows(owner: User) -> None:
    assert study_summary(study=lab.launched(owner).pk).rows == []
