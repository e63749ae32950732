from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.test_clients_by_loop import LR, ROUNDS, Reference, assert_equal_models, spec_of
from workers.engine import simulate


def reply(samples: int, w: list[float], loss: float) -> dict[str, Any]:
    return answer(samples, w, metrics={"loss-before": loss})


def test_a_step_worked_out_by_hand() -> None:
    """q = 1, lr = 0.1, so L = 10. From (0, 0) to (1, 0) with F = 2 and to (0, 2) with F = 1:

    d = (-10, 0) and (0, -20); F d = (-20, 0) and (0, -20); h = 100 + 10 * 2 and 400 + 10 * 1; w = (20, 20) / 530.
    """
    server = Server({"name": "qfedavg", "q": 1.0}, tensors(w=[0.0, 0.0]))

    model = server.round(reply(9, [1.0, 0.0], 2.0), reply(1, [0.0, 2.0], 1.0))

    assert model["w"] == pytest.approx([20 / 530, 20 / 530], abs=1e-15)


def test_q_zero_is_the_plain_mean_whatever_losses_and_samples_are() -> None:
    server = Server({"name": "qfedavg", "q": 0.0}, tensors(w=[5.0]))

    assert server.round(reply(9, [1.0], 2.0), reply(1, [4.0], 0.0))["w"] == pytest.approx([2.5], abs=1e-15)


def test_powers_beyond_all_numbers_cancel_out() -> None:
    """F^q is 1e400 for both: w = 0 + 2 * 10 * 1 / (2 * (100 * 100 / 1e4 + 10)) = 20 / 22."""
    server = Server({"name": "qfedavg", "q": 100.0}, tensors(w=[0.0]))

    assert server.round(reply(1, [1.0], 1e4), reply(1, [1.0], 1e4))["w"] == pytest.approx([20 / 22], abs=1e-15)


def global_loss(reference: Reference, client: int) -> float:
    total, chosen = 0.0, reference.federation.clients[client].train
    for x, y in zip(reference.federation.x[chosen].astype(np.float64), reference.federation.y[chosen], strict=True):
        scores = reference.model[0] @ x + reference.model[1]
        total += float(np.log(np.exp(scores).sum()) - scores[y])
    return total / len(chosen)


@pytest.mark.parametrize("q", [0.0, 0.5, 2.0])
def test_it_equals_plain_loops(q: float) -> None:
    spec = spec_of({"name": "qfedavg", "q": q})
    reference = Reference(spec)
    for _ in range(ROUNDS):
        steps, curvature = [np.zeros_like(value) for value in reference.model], 0.0
        for client in range(5):
            own = reference.descend(client)
            loss = global_loss(reference, client)
            moved = [(w - v) / LR for w, v in zip(reference.model, own, strict=True)]
            steps = [step + loss**q * d for step, d in zip(steps, moved, strict=True)]
            curvature += q * loss ** (q - 1) * sum(float((d**2).sum()) for d in moved) + loss**q / LR
        reference.model = [w - step / curvature for w, step in zip(reference.model, steps, strict=True)]

    assert_equal_models(simulate(spec), reference)


def test_batch_statistics_are_averaged_by_samples() -> None:
    start = tensors(w=[0.0], mean=[0.0])
    server = Server({"name": "qfedavg"}, start, buffers=("mean",))

    def with_mean(samples: int, mean: float) -> dict[str, Any]:
        return {"samples": samples, "arrays": {"w": [1.0], "mean": [mean]}, "metrics": {"loss-before": 1.0}}

    assert server.round(with_mean(1, 4.0), with_mean(3, 8.0))["mean"] == [7.0]


def test_a_diverged_run_is_a_result() -> None:
    local = {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 1e200}}

    result = simulate(tiny(strategy={"name": "qfedavg"}, local=local, model={"name": "mlp-50"}))

    assert np.isnan(curve(result, "loss")[1:]).tolist() == [True, True, True]
