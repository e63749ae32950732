"""MOON: representations towards those of the global model, away from those of the client's last model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from tests.workers.engine.tiny import distance, tiny
from tests.workers.strategies.test_clients_by_loop import LR, STEPS, spec_of
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.engine.setup import make_setup
from workers.engine.training.rule import Predictions
from workers.spec import parse_run
from workers.strategies._moon import ModelContrast

MLP = {"model": {"name": "mlp", "hidden": [8]}}


def test_the_contrast_and_its_gradient_worked_out_by_hand() -> None:
    """z = (3, 4) is the global model's; the last model's is (4, -3): cosines 1 and 0, divided by 1/2 they are 2 and 0.

    l = log(1 + e^-2) = 0.126928. Only the second cosine moves with z, by (0.8, -0.6) / |z| = (0.16, -0.12):
    the gradient is 1 / (1 + e^2) * 2 * (0.16, -0.12) = (0.0381449, -0.0286087). Everything five times, for mu.
    """
    rule = ModelContrast(mu=5.0, temperature=0.5)
    fixed = {0.0: [[[3.0, 4.0]]], 1.0: [[[4.0, -3.0]]]}
    work = SimpleNamespace(anchor={"w": torch.tensor([0.0])}, rule={"previous/": {"w": torch.tensor([[1.0]])}})
    z = torch.tensor([[[3.0, 4.0]]], requires_grad=True)
    predictions = Predictions(
        slice(0, 1),
        torch.tensor([[0]]),
        torch.zeros(1, 1, 2),
        z,
        cross_entropy=lambda logits: torch.full((1, 1), 2.0),
        representations_of=lambda model: torch.tensor(fixed[model["w"].item()]),
    )

    losses = rule.losses(work, predictions)  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad(losses.sum(), z)

    assert losses.tolist() == [[pytest.approx(2.0 + 0.634640, abs=1e-6)]]
    assert gradient[0, 0].tolist() == pytest.approx([0.190725, -0.143043], abs=1e-6)


def test_a_run_is_that_of_plain_loops() -> None:
    """A network with one hidden layer, its forward pass written out; z is what comes out of the ReLU."""
    mu, temperature, rounds = 2.0, 0.4, 3
    strategy = {"name": "moon", "mu": mu, "temperature": temperature}
    fields = {**spec_of(strategy), **MLP, "rounds": rounds}
    setup = make_setup(parse_run(fields), torch.device("cpu"))
    federation = setup.federation
    model = list(setup.initial.values())
    sizes = np.array([len(client.train) for client in federation.clients], dtype=float)
    previous: list[list[torch.Tensor] | None] = [None] * 5

    def hidden(params: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ params[0].T + params[1])

    for _ in range(rounds):
        ends = []
        for client in range(5):
            chosen = federation.clients[client].train
            x, y = torch.tensor(federation.x[chosen]).double(), torch.tensor(federation.y[chosen])
            last = previous[client] or model
            own = [value.clone().requires_grad_() for value in model]
            for _ in range(STEPS):
                z = hidden(own, x)
                similar = F.normalize(z) * F.normalize(hidden(model, x)), F.normalize(z) * F.normalize(hidden(last, x))
                a, b = (each.sum(1) / temperature for each in similar)
                contrast = -torch.log(a.exp() / (a.exp() + b.exp()))
                loss = F.cross_entropy(z @ own[2].T + own[3], y.long()) + mu * contrast.mean()
                grads = torch.autograd.grad(loss, own)
                own = [(v - LR * g).detach().requires_grad_() for v, g in zip(own, grads, strict=True)]
            ends.append([value.detach() for value in own])
        previous = [*ends]
        shares = sizes / sizes.sum()
        model = [sum(s * end[at] for s, end in zip(shares, ends, strict=True)) for at in range(4)]  # type: ignore[misc]

    result = simulate(fields)

    for name, expected in zip(setup.initial, model, strict=True):
        np.testing.assert_allclose(result.parameters[name], expected.numpy(), rtol=0, atol=1e-12)


def test_the_first_round_is_fedavgs_and_the_second_is_not() -> None:
    def gap(rounds: int, **strategy: Any) -> float:
        fields = {**spec_of({"name": "fedavg"}), **MLP, "rounds": rounds}
        return distance(simulate(fields), simulate({**fields, "strategy": {"name": "moon", **strategy}}))

    assert gap(1, mu=5.0) < 1e-13
    assert gap(2, mu=5.0) > 1e-4
    assert gap(2, mu=0.0) < 1e-13


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_engines_agree_and_a_run_goes_on_to_the_bit(norm: str) -> None:
    fields = tiny(
        strategy={"name": "moon", "mu": 5.0}, stragglers=0.4, rounds=5, model={"name": "mlp-50", "norm": norm}
    )

    check_engines(fields)
    check_resume(fields)


def test_a_cnn_whose_steps_are_otherwise_written_out() -> None:
    fields = tiny(
        dataset={"name": "blobs", "shape": [1, 8, 8], "classes": 3, "train": 60, "test": 12},
        model={"name": "cnn", "widths": [4], "dense": [6]},
        strategy={"name": "moon"},
    )

    check_engines({**fields, "rounds": 3})
