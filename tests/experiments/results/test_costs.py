from __future__ import annotations

from experiments.models import User
from experiments.results.selectors.costs import Cost, cumulated_costs, run_costs
from tests.experiments import lab


def test_costs_are_summed_over_the_rounds(owner: User) -> None:
    run = lab.runs_in_order(lab.launched(owner))[0]
    lab.record(run, {"bytes_up": [100.0, 40.0, 40.0], "seconds_train": [0.5, 1.5], "accuracy": [0.1, 0.2, 0.3]})
    up, train = run_costs(run=run.pk)
    assert (up, up.mean) == (Cost("bytes_up", 180.0, 3), 60.0)
    assert (train, train.mean) == (Cost("seconds_train", 2.0, 2), 1.0)


def test_they_are_cumulated_round_by_round(owner: User) -> None:
    run = lab.runs_in_order(lab.launched(owner))[0]
    lab.record(run, {"bytes_up": [100.0, 40.0, 40.0], "bytes_down": [0.0, 8.0]})
    assert cumulated_costs(run=run.pk, names=("bytes_up", "bytes_down", "bytes_peer")) == {
        "bytes_up": [(0, 100.0), (1, 140.0), (2, 180.0)],
        "bytes_down": [(0, 0.0), (1, 8.0)],
    }
