"""How much work a run is, worked out by hand: digits has 1,437 training samples of 64 values in 10 classes."""

from __future__ import annotations

from typing import Any

import pytest

from workers.spec import parse_run
from workers.spec.workload import client_steps, parameter_count, round_bytes

BASE: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "strategy": {"name": "fedavg"},
    "clients": 10,
    "local": {"epochs": 2, "batch_size": 32},
}


def steps(**changes: Any) -> float:
    return client_steps(parse_run({**BASE, **changes}))


def test_a_client_steps_through_its_samples_in_batches() -> None:
    assert steps() == 10 * 2 * 5
    assert steps(cohort=3) == 3 * 2 * 5
    assert steps(fraction=0.5) == 5 * 2 * 5


def test_clients_that_drop_out_or_straggle_step_less() -> None:
    assert steps(client_dropout=0.1) == pytest.approx(90)
    assert steps(stragglers=0.4) == pytest.approx(80)


def test_what_is_held_out_is_not_trained_on() -> None:
    assert steps(evaluation={"on": "clients", "held_out": 0.5}) == 10 * 2 * 3


def test_shared_samples_are_trained_on_by_the_shared_client() -> None:
    assert steps(hybrid={"ratio": 0.5}) == 10 * 2 * 3 + 2 * 23


def test_what_validates_is_not_trained_on() -> None:
    """Half of 143.7 samples fit in 3 batches of 32; FedLoss keeps a tenth, which leaves 129.33 in 5 batches."""
    assert steps(evaluation={"validation": 0.5}) == 10 * 2 * 3
    assert steps(strategy={"name": "fedloss"}) == 10 * 2 * 5
    assert steps(hybrid={"ratio": 0.5}, evaluation={"validation": 0.5}) == 10 * 2 * 2 + 2 * 12


def test_under_unify_fewer_clients_keep_all_of_their_samples() -> None:
    """Eight of ten clients give 1,149.6 samples, 36 batches, to the shared client."""
    unify = {"method": "unify", "ratio": 0.8}
    assert steps(hybrid=unify) == 2 * 2 * 5 + 2 * 36
    assert steps(hybrid=unify, fraction=0.5) == 2 * 5 + 2 * 36
    assert round_bytes(parse_run({**BASE, "hybrid": unify})) == 2 * 3 * 650 * 4
    assert round_bytes(parse_run({**BASE, "hybrid": {"ratio": 1.0}})) == 2 * 1 * 650 * 4


def test_both_holds_out_like_clients() -> None:
    assert steps(evaluation={"on": "both", "held_out": 0.5}) == 10 * 2 * 3


def test_natural_clients_that_are_left_out_bring_no_samples() -> None:
    spec = parse_run({**BASE, "dataset": {"name": "uci-har"}, "partition": {"name": "natural"}, "clients": 7})
    facts = spec.dataset_facts
    assert client_steps(spec) == 7 * 2 * -(-facts.train // (facts.natural_clients or 0) // 32)


def test_the_model_goes_down_and_up_again_for_each_client() -> None:
    spec = parse_run(BASE)
    assert parameter_count(spec) == 64 * 10 + 10
    assert round_bytes(spec) == 2 * 10 * 650 * 4
    assert round_bytes(parse_run({**BASE, "precision": "float64", "hybrid": {"ratio": 0.1}})) == 2 * 11 * 650 * 8
