"""Cells of a study that train on different shares of the data are told apart before anything is launched."""

from __future__ import annotations

from typing import Any

from experiments.studies.services.train_shares import train_share_warnings
from workers.spec import expand

BLOCK: dict[str, Any] = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}}
FEDAVG, FEDPROX, FEDLOSS = {"name": "fedavg"}, {"name": "fedprox"}, {"name": "fedloss"}


def warnings(*blocks: dict[str, Any]) -> tuple[str, ...]:
    runs = expand([{**BLOCK, **block} for block in blocks]).runs
    return train_share_warnings([run.spec for run in runs])


def test_a_strategy_that_needs_validation_trains_on_less_than_the_others() -> None:
    assert warnings({"strategy": [FEDAVG, FEDLOSS, FEDPROX]}) == (
        "FedLoss trains on 90% of each client's data, FedAvg and FedProx on 100%: "
        "set evaluation.validation: 0.1 for all to compare them fairly.",
    )


def test_cells_with_the_same_share_are_not_mentioned() -> None:
    assert warnings({"strategy": [FEDAVG, FEDLOSS], "evaluation": {"validation": 0.1}}) == ()
    assert warnings({"strategy": FEDLOSS, "seeds": 3}) == ()


def test_an_evaluation_that_holds_data_out_beside_one_that_does_not() -> None:
    assert warnings({"strategy": FEDAVG, "evaluation": {"on": ["server", "clients"]}}) == (
        "Cells train on different shares of each client's data (80% and 100%): "
        "give all the same evaluation.on, held_out and validation to compare them fairly.",
    )


def test_data_sets_are_not_compared_with_each_other() -> None:
    """Blobs without a test set hold a fifth out; digits has one."""
    blobs = {"dataset": {"name": "blobs", "test": 0}, "strategy": FEDAVG}
    assert warnings({"strategy": FEDAVG}, blobs) == ()
    assert warnings({"strategy": [FEDAVG, FEDLOSS]}, blobs)[0].startswith("FedLoss trains on 90% of each")
