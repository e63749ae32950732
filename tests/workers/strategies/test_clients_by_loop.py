"""Whole runs against an independent, straightforward implementation: plain loops, no engine, float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.workers.engine.tiny import curve, distance, tiny
from workers.engine import simulate
from workers.engine.federation import Federation, make_federation
from workers.engine.records import Result
from workers.spec import parse_run

ROUNDS, STEPS, LR = 3, 4, 0.3


def spec_of(strategy: dict[str, Any], **optimizer: Any) -> dict[str, Any]:
    """Full batches, so that local training is plain gradient descent; all clients, all rounds."""
    local = {"epochs": STEPS, "batch_size": 10_000, "optimizer": {"name": "sgd", "lr": LR, **optimizer}}
    return tiny(strategy=strategy, cohort=None, rounds=ROUNDS, local=local)


def gradient(federation: Federation, client: int, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of softmax regression with mean cross-entropy."""
    chosen = federation.clients[client].train
    x, y = federation.x[chosen].astype(np.float64), federation.y[chosen]
    scores = x @ w.T + b
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    return p.T @ x / len(y), p.mean(0)


class Reference:
    """Gradient descent on every client, with a correction per client and the usual weighted mean."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.federation = make_federation(parse_run(spec))
        local = {**spec["local"], "optimizer": {"name": "sgd", "lr": 1e-300}}
        start = simulate({**spec, "strategy": {"name": "fedavg"}, "rounds": 1, "local": local})
        self.model = [start.parameters["1.weight"].copy(), start.parameters["1.bias"].copy()]
        sizes = np.array([len(client.train) for client in self.federation.clients], dtype=float)
        self.shares = sizes / sizes.sum()

    def gradient(self, client: int, model: list[np.ndarray]) -> list[np.ndarray]:
        return list(gradient(self.federation, client, *model))

    def descend(self, client: int, start: list[np.ndarray] | None = None, steps: int = STEPS) -> list[np.ndarray]:
        """Where plain gradient descent on that client ends."""
        own = [value.copy() for value in start or self.model]
        for _ in range(steps):
            own = [v - LR * g for v, g in zip(own, self.gradient(client, own), strict=True)]
        return own

    def mean(self, models: list[list[np.ndarray]]) -> list[np.ndarray]:
        return [sum(s * m[i] for s, m in zip(self.shares, models, strict=True)) for i in range(2)]  # type: ignore[misc]


def assert_equal_models(result: Result, reference: Reference) -> None:
    np.testing.assert_allclose(result.parameters["1.weight"], reference.model[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.parameters["1.bias"], reference.model[1], rtol=0, atol=1e-12)


def test_fedprox_holds_clients_near_the_global_model() -> None:
    spec = spec_of({"name": "fedprox", "mu": 0.7})
    reference = Reference(spec)
    for _ in range(ROUNDS):
        models = []
        for client in range(5):
            own = [value.copy() for value in reference.model]
            for _ in range(STEPS):
                grads = reference.gradient(client, own)
                own = [v - LR * (g + 0.7 * (v - a)) for v, g, a in zip(own, grads, reference.model, strict=True)]
            models.append(own)
        reference.model = reference.mean(models)

    assert_equal_models(simulate(spec), reference)


def test_local_only_never_exchanges_anything() -> None:
    spec = {**spec_of({"name": "local-only"}), "evaluation": {"on": "server"}}
    reference = Reference(spec)
    accuracies = []
    for client in range(5):
        own = reference.descend(client, steps=ROUNDS * STEPS)
        test_x, test_y = reference.federation.test_x.astype(np.float64), reference.federation.test_y
        accuracies.append(float(np.mean((test_x @ own[0].T + own[1]).argmax(1) == test_y)))

    last = simulate(spec).history[-1]

    assert [last.clients[client]["accuracy"] for client in range(5)] == pytest.approx(accuracies)
    assert last.metrics["accuracy"] == pytest.approx(np.mean(accuracies))
    assert (last.metrics["bytes_up"], last.metrics["bytes_down"]) == (0, 0)


def test_identities_between_strategies() -> None:
    plain = simulate(spec_of({"name": "fedavg"}))

    for same in (
        {"name": "fedprox", "mu": 0.0},
        {"name": "fedavgm", "server_momentum": 0.0},
        {"name": "fednova"},
    ):
        assert distance(plain, simulate(spec_of(same))) < 1e-13, same
    proximal = [simulate(spec_of({"name": name, "mu": 0.5})) for name in ("fedprox", "fednova")]
    assert distance(*proximal) < 1e-13  # everybody takes as many steps
    first = {**spec_of({"name": "scaffold"}), "rounds": 1}
    assert distance(simulate(first), simulate({**first, "strategy": {"name": "fedavg"}})) < 1e-14


def test_centralised_is_fedavg_with_one_client() -> None:
    one = {**spec_of({"name": "fedavg"}), "clients": 1, "partition": {"name": "iid"}}
    many = spec_of({"name": "centralised"})

    result = simulate(many)

    assert distance(result, simulate(one)) < 1e-12
    assert [record.cohort for record in result.history] == [(), (0,), (0,), (0,)]
    assert sum(curve(result, "bytes_up")) == 0


def test_fedavg_every_sends_only_where_it_averages() -> None:
    result = simulate({**tiny(strategy={"name": "fedavg", "every": 3}), "rounds": 7})

    model = 3 * 15 * 8
    assert [up > 0 for up in curve(result, "bytes_up")] == [False, True, False, False, True, False, False, True]
    assert [down > model for down in curve(result, "bytes_down")] == [
        *(False, True, True, False, False, True, False, False)
    ]
    cohorts = [record.cohort for record in result.history[1:]]
    assert cohorts[1] == cohorts[2] == cohorts[3]
    assert cohorts[4] == cohorts[5] == cohorts[6]
    assert len(set(curve(result, "loss"))) == 8
