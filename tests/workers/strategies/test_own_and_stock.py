"""Where a strategy of ours computes what one of Flower's does, both give the same numbers; where not, by which formula.

All in float64. Runs go through the same engine, so that what may differ is the server's arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.workers.engine.tiny import distance, tiny
from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.test_flower import stock
from workers.engine import simulate

TOLERANCE = 1e-12
"""Sums in another order: a few last bits of values around 1."""
EQUAL_SIZES = {"partition": {"name": "iid"}}

EQUAL: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"name": "fedavg"}, stock("FedAvg"), {}),
    ({"name": "fedprox", "mu": 0.3}, stock("FedProx", proximal_mu=0.3), {}),
    (
        {"name": "fedavgm", "server_lr": 0.7, "server_momentum": 0.8},
        stock("FedAvgM", server_learning_rate=0.7, server_momentum=0.8),
        {},
    ),
    ({"name": "fedmedian"}, stock("FedMedian"), {}),
    ({"name": "fedtrimmedavg", "trim": 0.25}, stock("FedTrimmedAvg", beta=0.25), {}),
    ({"name": "krum", "malicious": 1}, stock("Krum", num_malicious_nodes=1), {}),
    (
        {"name": "multikrum", "malicious": 1, "keep": 3},
        stock("MultiKrum", num_malicious_nodes=1, num_nodes_to_select=3),
        EQUAL_SIZES,
    ),
    ({"name": "qfedavg", "q": 0.0}, stock("QFedAvg", q=0.0), {}),
]


@pytest.mark.parametrize(("own", "flowers", "changes"), EQUAL, ids=lambda value: value.get("name") if value else None)
def test_ours_is_flowers(own: dict[str, Any], flowers: dict[str, Any], changes: dict[str, Any]) -> None:
    """Five clients a round, of unequal sizes unless told. q-FedAvg with q = 0 asks for no loss: see below."""
    ours, theirs = (simulate(tiny(strategy=each, cohort=5, **changes), device="cpu") for each in (own, flowers))

    assert distance(ours, theirs) < TOLERANCE


def test_multikrum_of_flower_weighs_by_samples_and_ours_does_not() -> None:
    """The best two of 0, 1 and 9 are 0 and 1, of 1 and 3 samples: their mean is 1/2 here, 3/4 there."""
    answers = [answer(1, [0.0]), answer(3, [1.0]), answer(5, [9.0])]
    own = Server({"name": "multikrum", "keep": 2}, tensors(w=[0.0]))
    flowers = Server(stock("MultiKrum", num_nodes_to_select=2), tensors(w=[0.0]))

    assert own.round(*answers)["w"] == pytest.approx([0.5], abs=1e-15)
    assert flowers.round(*answers)["w"] == pytest.approx([0.75], abs=1e-15)


def test_qfedavg_is_flowers_given_the_same_losses() -> None:
    """Ours is given F_i, the global model's loss over the client's samples; Flower's takes what clients call their

    training loss, here the mean loss over local steps. Its 1e-10 is added to every loss, ours is the least there is.
    """
    losses = [0.5, 2.0]
    models = [[0.9, 2.1], [0.2, 1.5]]
    answers = [
        answer(n, model, metrics={"loss-before": loss, "train-loss": loss})
        for n, model, loss in zip((3, 1), models, losses, strict=True)
    ]
    own = Server({"name": "qfedavg", "q": 2.0}, tensors(w=[1.0, 2.0]))
    flowers = Server(stock("QFedAvg", q=2.0), tensors(w=[1.0, 2.0]))
    expected = q_fedavg(np.array([1.0, 2.0]), np.array(models), np.array(losses), q=2.0, lr=0.1)

    assert own.round(*answers)["w"] == pytest.approx(expected, abs=1e-12)
    assert flowers.round(*answers)["w"] == pytest.approx(expected, abs=1e-9)


def q_fedavg(model: np.ndarray, clients: np.ndarray, losses: np.ndarray, *, q: float, lr: float) -> np.ndarray:
    """w - sum_i F_i^q d_i / sum_i (q F_i^(q-1) |d_i|^2 + F_i^q / lr), d_i = (w - w_i) / lr."""
    movements = (model - clients) / lr
    curvature = q * losses ** (q - 1) * (movements**2).sum(1) + losses**q / lr
    step: np.ndarray = model - (losses[:, None] ** q * movements).sum(0) / curvature.sum()
    return step


MODELS = [[0.5, -2.0], [0.9, -2.4], [1.6, -2.5]]
"""What a client answers in three rounds."""
ETA, BETA_1, BETA_2, TAU = 0.1, 0.8, 0.95, 0.01


def adaptive(kind: str, *, flowers: bool) -> list[list[float]]:
    """Reddi et al., Algorithm 2: v starts at tau^2 and steps are not corrected for their start. Flower's v starts at 0,

    and its FedAdam alone multiplies eta by sqrt(1 - beta_2^(t+1)) / (1 - beta_1^(t+1)).
    """
    w = np.zeros(2)
    first, second = np.zeros(2), np.full(2, 0.0 if flowers else TAU**2)
    beta_1 = 0.0 if kind == "adagrad" else BETA_1
    rounds = []
    for number, model in enumerate(MODELS, start=1):
        delta = np.array(model) - w
        first = beta_1 * first + (1 - beta_1) * delta
        second = {
            "adagrad": second + delta**2,
            "adam": BETA_2 * second + (1 - BETA_2) * delta**2,
            "yogi": second - (1 - BETA_2) * delta**2 * np.sign(second - delta**2),
        }[kind]
        corrected = flowers and kind == "adam"
        factor = np.sqrt(1 - BETA_2 ** (number + 1)) / (1 - BETA_1 ** (number + 1)) if corrected else 1.0
        w = w + ETA * factor * first / (np.sqrt(second) + TAU)
        rounds.append(w.tolist())
    return rounds


@pytest.mark.parametrize("kind", ["adagrad", "adam", "yogi"])
def test_server_optimizers_differ_by_their_first_moment_of_squares_and_adams_correction_alone(kind: str) -> None:
    decay = {} if kind == "adagrad" else {"beta1": BETA_1, "beta2": BETA_2}
    flowers_decay = {name.replace("beta", "beta_"): value for name, value in decay.items()}
    own = Server({"name": f"fed{kind}", "server_lr": ETA, "tau": TAU, **decay}, tensors(w=[0.0, 0.0]))
    flowers = Server(stock(f"Fed{kind.capitalize()}", eta=ETA, tau=TAU, **flowers_decay), tensors(w=[0.0, 0.0]))

    ours = [own.round(answer(1, model))["w"] for model in MODELS]
    theirs = [flowers.round(answer(1, model))["w"] for model in MODELS]

    np.testing.assert_allclose(ours, adaptive(kind, flowers=False), rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(theirs, adaptive(kind, flowers=True), rtol=0, atol=TOLERANCE)
    assert np.abs(np.array(ours) - theirs).max() > 1e-5
