"""FedLC: logits that are calibrated by how often a client has each class."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from tests.workers.engine.tiny import tiny
from tests.workers.strategies.test_clients_by_loop import LR, ROUNDS, STEPS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.engine.training.rule import Predictions
from workers.errors import SpecError
from workers.spec import parse_run
from workers.strategies._fedlc import CalibratedLogits

SKEWED = {"partition": {"name": "label-dirichlet", "alpha": 0.1, "min_size": 2}}


def test_margins_losses_and_gradients_worked_out_by_hand() -> None:
    """16 samples, 1 and none: margins 1/2, 1 and without end. At logits of 0 the classes have the shares
    1 / (1 + e^(-1/2)) = 0.622459, 0.377541 and 0."""
    rule, labels = CalibratedLogits(1.0), torch.tensor([[0, 1]])
    work = SimpleNamespace(
        rule={}, params={"w": torch.zeros(1, dtype=torch.float64)}, class_counts=lambda: torch.tensor([[16, 1, 0]])
    )
    logits = torch.zeros(1, 2, 3, dtype=torch.float64, requires_grad=True)

    def cross_entropy(given: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(given[0], labels[0], reduction="none")[None]

    rule.start(work)  # type: ignore[arg-type]
    predictions = Predictions(slice(0, 1), labels, logits, logits, cross_entropy, lambda model: logits)
    losses = rule.losses(work, predictions)  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad(losses.sum(), logits)

    assert work.rule["fedlc_margins"].tolist() == [[0.5, 1.0, math.inf]]
    assert losses[0].tolist() == pytest.approx([0.474077, 0.974077], abs=1e-6)
    assert gradient[0, 0].tolist() == pytest.approx([-0.377541, 0.377541, 0.0], abs=1e-6)
    assert gradient[0, 1].tolist() == pytest.approx([0.622459, -0.622459, 0.0], abs=1e-6)


def test_a_run_is_that_of_plain_loops_where_clients_lack_classes() -> None:
    tau, fields = 0.8, {**spec_of({"name": "fedlc", "tau": 0.8}), **SKEWED}
    reference = Reference(fields)
    federation, lacking = reference.federation, 0

    def calibrated_gradient(client: int, w: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        chosen = federation.clients[client].train
        x, y = federation.x[chosen].astype(np.float64), federation.y[chosen]
        present = np.bincount(y, minlength=3) > 0
        margins = tau / np.bincount(y, minlength=3)[present] ** 0.25
        p = np.zeros((len(y), 3))
        p[:, present] = np.exp((x @ w.T + b)[:, present] - margins)
        p /= p.sum(1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        return [p.T @ x / len(y), p.mean(0)]

    for client in range(5):
        lacking += len(np.unique(federation.y[federation.clients[client].train])) < 3
    for _ in range(ROUNDS):
        models = []
        for client in range(5):
            own = reference.model
            for _ in range(STEPS):
                own = [v - LR * g for v, g in zip(own, calibrated_gradient(client, *own), strict=True)]
            models.append(own)
        reference.model = reference.mean(models)

    result = simulate(fields)

    assert lacking >= 2
    assert_equal_models(result, reference)
    assert all(math.isfinite(record.metrics["train_loss"]) for record in result.history[1:])


def test_engines_agree_and_a_run_goes_on_to_the_bit() -> None:
    """Clients of unequal size that lack classes: batches are padded with samples of others."""
    for model in ({"name": "mlp-50"}, {"name": "mlp-50", "norm": "batch"}):
        fields = tiny(strategy={"name": "fedlc"}, stragglers=0.4, rounds=5, model=model, **SKEWED)
        check_engines(fields)
        check_resume(fields)


@pytest.mark.parametrize("strategy", [{"name": "fedlc"}, {"name": "composed", "client": {"name": "fedlc"}}])
def test_smoothed_labels_are_refused_with_the_reason(strategy: dict[str, object]) -> None:
    fields = tiny(strategy=strategy)

    with pytest.raises(SpecError, match="no samples of"):
        parse_run({**fields, "local": {**fields["local"], "label_smoothing": 0.1}})
