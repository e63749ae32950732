from __future__ import annotations

import math

import pytest

from experiments.compare.selectors.values import (
    RunValue,
    best_values,
    final_values,
    last_values,
    target_values,
    total_values,
    values_at,
)
from experiments.models import Run, RunState, User
from tests.experiments import lab


@pytest.fixture
def runs(owner: User) -> list[Run]:
    """A whole one, one that stopped early, one that diverged, one at work, and two that wait."""
    runs = lab.runs_in_order(lab.launched(owner))
    lab.record(runs[0], {"accuracy": [0.1, 0.9, 0.8], "bytes_up": [1.0, 2.0, 4.0], "seconds": [0.5, 0.5, 0.5]})
    lab.record(runs[1], {"accuracy": [0.2, 0.4], "bytes_up": [1.0, 2.0]})
    lab.record(runs[2], {"accuracy": [0.3, math.nan]})
    lab.record(runs[3], {"accuracy": [0.1, 0.95]}, RunState.RUNNING)
    return runs


def by_run(values: list[RunValue], runs: list[Run]) -> dict[int, float | None]:
    return {[run.pk for run in runs].index(each.run): each.value for each in values}


def test_the_last_value_of_finished_runs(runs: list[Run]) -> None:
    values = by_run(final_values(runs=[run.pk for run in runs], metric="accuracy"), runs)
    assert values == {0: 0.8, 1: 0.4, 2: pytest.approx(math.nan, nan_ok=True)}


def test_the_mean_of_the_last_few(runs: list[Run]) -> None:
    values = by_run(last_values(runs=[run.pk for run in runs], metric="accuracy", last=2), runs)
    assert values == {0: pytest.approx(0.85), 1: pytest.approx(0.3), 2: pytest.approx(math.nan, nan_ok=True)}


def test_the_best_finite_value_either_way(runs: list[Run]) -> None:
    pks = [run.pk for run in runs]
    assert by_run(best_values(runs=pks, metric="accuracy", higher=True), runs) == {0: 0.9, 1: 0.4, 2: 0.3}
    assert by_run(best_values(runs=pks, metric="accuracy", higher=False), runs) == {0: 0.1, 1: 0.2, 2: 0.3}
    lab.record(runs[4], {"loss": [math.nan]})
    assert math.isnan(by_run(best_values(runs=pks, metric="loss", higher=False), runs)[4] or 0)


def test_at_given_rounds_of_every_run_that_came_so_far(runs: list[Run]) -> None:
    values = values_at(runs=[run.pk for run in runs], metric="accuracy", at=[0, 2])
    assert sorted((each.column, each.value) for each in values) == [(0, 0.1), (0, 0.1), (0, 0.2), (0, 0.3), (2, 0.8)]


def test_rounds_to_a_target_and_who_never_reached_it(runs: list[Run]) -> None:
    pks = [run.pk for run in runs]
    values = by_run(target_values(runs=pks, metric="accuracy", target=0.9, higher=True), runs)
    # The run at work has reached it; those that wait may yet.
    assert values == {0: 1.0, 1: None, 2: None, 3: 1.0}
    assert by_run(target_values(runs=pks[:1], metric="accuracy", target=0.1, higher=False), runs) == {0: 0.0}


def test_what_was_spent_until_then_and_in_all(runs: list[Run]) -> None:
    pks = [run.pk for run in runs]
    values = by_run(
        target_values(runs=pks, metric="accuracy", target=0.4, higher=True, spent=["bytes_up", "bytes_down"]), runs
    )
    assert values == {0: 3.0, 1: 3.0, 2: None, 3: None}
    assert by_run(total_values(runs=pks, spent=["bytes_up"]), runs) == {0: 7.0, 1: 3.0}
    assert by_run(total_values(runs=pks, spent=["bytes_up"], until=1), runs) == {0: 3.0, 1: 3.0}
