"""The server's learning rate by round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.workers.engine.tiny import distance, tiny
from tests.workers.strategies.test_clients_by_loop import ROUNDS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.errors import SpecError
from workers.spec import canonical_hash, parse_run

HALVES = {"name": "step", "every": 1, "gamma": 0.5}
HALF = {"name": "constant", "warmup": 2}
"""In the first of two rounds half of the rate."""


def test_fedavg_goes_that_share_of_its_way_by_plain_loops() -> None:
    """All of it in the first round, then a half, then a quarter."""
    spec = {**spec_of({"name": "fedavg"}), "server_schedule": HALVES}
    reference = Reference(spec_of({"name": "fedavg"}))
    for number in range(ROUNDS):
        mean = reference.mean([reference.descend(client) for client in range(5)])
        reference.model = [w + 0.5**number * (m - w) for w, m in zip(reference.model, mean, strict=True)]

    assert_equal_models(simulate(spec), reference)


@pytest.mark.parametrize(
    ("strategy", "half"),
    [
        ({"name": "fedavgm", "server_lr": 0.8}, {"name": "fedavgm", "server_lr": 0.4}),
        ({"name": "fedadam", "server_lr": 0.1}, {"name": "fedadam", "server_lr": 0.05}),
        ({"name": "scaffold"}, {"name": "scaffold", "server_lr": 0.5}),
        (
            {"name": "composed", "aggregate": {"name": "median"}, "server": {"name": "yogi", "lr": 0.1}},
            {"name": "composed", "aggregate": {"name": "median"}, "server": {"name": "yogi", "lr": 0.05}},
        ),
    ],
    ids=str,
)
def test_half_of_a_learning_rate_is_that_rate_halved(strategy: dict[str, Any], half: dict[str, Any]) -> None:
    scheduled, plain = tiny(strategy=strategy, server_schedule=HALF, rounds=1), tiny(strategy=half, rounds=1)

    assert distance(simulate(scheduled), simulate(plain)) < 1e-13


def test_batch_statistics_are_taken_as_they_are() -> None:
    model = {"name": "mlp-50", "norm": "batch"}
    whole, half, start = (
        simulate(tiny(model=model, rounds=1, **changes)).parameters
        for changes in ({}, {"server_schedule": HALF}, {"local": {"optimizer": {"name": "sgd", "lr": 1e-300}}})
    )

    for name, value in whole.items():
        statistic = "running" in name or "tracked" in name
        np.testing.assert_allclose(half[name], value if statistic else (start[name] + value) / 2, rtol=0, atol=1e-13)


def test_engines_agree_and_a_run_goes_on_to_the_bit() -> None:
    """With a compressed way down, where the server's step begins at what the clients were told."""
    spec = tiny(
        strategy={"name": "fedyogi"},
        server_schedule={"name": "cosine", "warmup": 2},
        compression={"name": "quantise", "direction": "both"},
        rounds=5,
    )

    check_engines(spec)
    check_resume(spec)


def test_a_constant_schedule_is_the_run_that_it_always_was() -> None:
    plain, constant, halves = (
        canonical_hash(parse_run(tiny(**changes)))
        for changes in ({}, {"server_schedule": {"name": "constant"}}, {"server_schedule": HALVES})
    )

    assert plain == constant != halves


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ({"name": "fedswap"}, "no step from one model to the next"),
        ({"name": "fedper"}, "no step from one model to the next"),
        ({"name": "flower", "class": "flwr.serverapp.strategy.FedAvg"}, "the model that it made itself"),
    ],
    ids=str,
)
def test_where_there_is_no_such_step_it_is_refused(strategy: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as refusal:
        parse_run(tiny(strategy=strategy, server_schedule=HALVES))

    (problem,) = refusal.value.errors
    assert problem.path == "server_schedule"
    assert words in problem.message
