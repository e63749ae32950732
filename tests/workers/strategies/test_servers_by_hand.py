"""Every server rule on one or two parameters, with numbers worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

from tests.workers.engine.tiny import tiny
from tests.workers.strategies.by_hand import Server, answer, tensors
from workers.engine import simulate
from workers.strategies._weighting import EffectiveSteps


def test_fedavg_weights_by_samples() -> None:
    server = Server({"name": "fedavg"}, tensors(w=[0.0, 0.0]))

    assert server.round(answer(1, [1.0, 4.0]), answer(3, [5.0, 0.0])) == {"w": [4.0, 1.0]}


def test_fedavg_every_three_averages_in_rounds_one_four_and_seven() -> None:
    server = Server({"name": "fedavg", "every": 3}, tensors(w=[0.0]))
    sent, models, evaluated_models = [], [], []

    for number in range(1, 8):
        name = "arrays" if number in (1, 4, 7) else "observed"
        models.append(server.round({"samples": 1, name: {"w": [float(number)]}})["w"])
        sent.append("arrays" in server.requests[0].content)
        virtual = server.method.server.virtual  # type: ignore[attr-defined]
        evaluated_models.append(None if virtual is None else virtual["w"].tolist())

    assert models == [[1.0], [1.0], [1.0], [4.0], [4.0], [4.0], [7.0]]
    assert sent == [True, True, False, False, True, False, False]
    assert evaluated_models == [None, [2.0], [3.0], None, [5.0], [6.0], None]
    assert [server.method.cohort_round(number) for number in range(1, 9)] == [1, 2, 2, 2, 5, 5, 5, 8]


def test_fedavgm_adds_momentum() -> None:
    """From 0: mean 1 gives v = -1, w = 1. Mean 1 again gives v = 0.5 * -1 + 0, w = 1.5."""
    server = Server({"name": "fedavgm", "server_momentum": 0.5}, tensors(w=[0.0]))

    assert server.round(answer(2, [1.0])) == {"w": [1.0]}
    assert server.round(answer(2, [1.0])) == {"w": [1.5]}


def test_fedavgm_with_nesterov_looks_ahead() -> None:
    """v = -1, step 0.5 * -1 + -1 = -1.5, times server_lr 2."""
    options = {"name": "fedavgm", "server_momentum": 0.5, "server_lr": 2.0, "nesterov": True}

    assert Server(options, tensors(w=[0.0])).round(answer(2, [1.0])) == {"w": [3.0]}


@pytest.mark.parametrize(
    ("name", "second"),
    [
        ("fedadam", [0.5 * 0.01 + 0.5 * 4, 0.5 * (0.5 * 0.01 + 0.5 * 4) + 0.5 * 1]),
        ("fedyogi", [0.01 + 0.5 * 4, 0.01 + 0.5 * 4 - 0.5 * 1]),
        ("fedadagrad", [0.01 + 4, 0.01 + 4 + 1]),
    ],
)
def test_adaptive_servers_step_along_the_mean_movement(name: str, second: list[float]) -> None:
    """Movements 2, then 1; beta1 = 0.5, so m = 1, then 1. tau = 0.1, v starts at 0.01."""
    betas = {"beta1": 0.5} if name == "fedadagrad" else {"beta1": 0.5, "beta2": 0.5}
    server = Server({"name": name, "server_lr": 0.3, "tau": 0.1, **betas}, tensors(w=[0.0]))

    first = 0.3 * 1 / (math.sqrt(second[0]) + 0.1)
    then = first + 0.3 * 1 / (math.sqrt(second[1]) + 0.1)

    assert server.round(answer(2, [2.0]))["w"] == pytest.approx([first], abs=1e-15)
    assert server.round(answer(2, [first + 1.0]))["w"] == pytest.approx([then], abs=1e-15)


@pytest.mark.parametrize("name", ["fedavgm", "fedadam", "fedyogi", "fedadagrad", "fednova", "scaffold"])
def test_buffers_are_averaged_and_never_optimised(name: str) -> None:
    start = {**tensors(w=[0.0], mean=[0.0]), "seen": torch.tensor(4)}
    server = Server({"name": name}, start, buffers=("mean", "seen"), samples={0: 1, 1: 3})

    def reply(samples: int, mean: float) -> dict[str, object]:
        model = {"w": [1.0], "mean": [mean], "seen": 10.0}
        return {
            "samples": samples,
            "arrays": model,
            "control": {"w": [0.0]},
            "metrics": {"effective-steps": 1.0},
        }

    result = server.round(reply(1, 4.0), reply(3, 8.0))

    assert result["mean"] == [7.0]
    assert result["seen"] == 10.0


def test_fednova_normalises_by_effective_steps() -> None:
    """From 1: movements -2 over 2 steps and -3 over 6; shares 1/4 and 3/4; tau_eff = 5.

    w = 1 - 5 * (1/4 * 2/2 + 3/4 * 3/6) = 1 - 5 * 0.625
    """
    server = Server({"name": "fednova"}, tensors(w=[1.0]))

    result = server.round(
        answer(1, [-1.0], metrics={"effective-steps": 2.0}), answer(3, [-2.0], metrics={"effective-steps": 6.0})
    )

    assert result["w"] == pytest.approx([-2.125], abs=1e-15)


def test_fednova_ignores_a_client_that_took_no_step() -> None:
    """Half the weight did nothing: tau_eff = 1, so w = 0 - 1 * (1/2 * (0 - 4) / 2)."""
    server = Server({"name": "fednova"}, tensors(w=[0.0]))

    result = server.round(
        answer(1, [0.0], metrics={"effective-steps": 0.0}), answer(1, [4.0], metrics={"effective-steps": 2.0})
    )

    assert result == {"w": [1.0]}


def test_scaffold_moves_the_model_and_the_servers_variate() -> None:
    """Two of four clients with 1 and 3 of 8 samples: c = 1/8 * 8 + 3/8 * 16 = 7; w = 0 + 0.5 * (3.5 - 0)."""
    samples = {0: 1, 1: 3, 2: 2, 3: 2}
    server = Server({"name": "scaffold", "server_lr": 0.5}, tensors(w=[0.0]), samples=samples)

    result = server.round(answer(1, [2.0], control={"w": [8.0]}), answer(3, [4.0], control={"w": [16.0]}))

    assert result == {"w": [1.75]}
    assert server.method.server.state["w"].tolist() == [7.0]  # type: ignore[attr-defined]


def test_scaffold_may_count_every_client_as_one() -> None:
    """c = (8 + 16) / 4; w = (2 + 4) / 2."""
    samples = {0: 1, 1: 3, 2: 2, 3: 2}
    server = Server({"name": "scaffold", "weighting": "uniform"}, tensors(w=[0.0]), samples=samples)

    result = server.round(answer(1, [2.0], control={"w": [8.0]}), answer(3, [4.0], control={"w": [16.0]}))

    assert result == {"w": [3.0]}
    assert server.method.server.state["w"].tolist() == [6.0]  # type: ignore[attr-defined]


def test_scaffold_sends_its_variate_along() -> None:
    server = Server({"name": "scaffold"}, tensors(w=[0.0]), samples={0: 1})

    server.round(answer(1, [2.0], control={"w": [8.0]}))

    assert set(server.requests[0].content) == {"arrays", "control", "config"}


def test_fednovas_steps_with_a_proximal_term_are_those_of_a_shrinking_sum() -> None:
    """lr mu = 0.1: two steps count 1 + 0.9, three 1 + 0.9 + 0.81."""
    rule = EffectiveSteps(mu=2.0, lr=0.05)
    work = SimpleNamespace(
        optimizer=SimpleNamespace(effective_steps=lambda steps: steps), steps=torch.tensor([2.0, 3.0])
    )

    assert rule.finish(work).metrics["effective-steps"] == pytest.approx([1.9, 2.71])  # type: ignore[arg-type]


def test_the_last_client_is_another_one_of_the_cohort_in_other_rounds() -> None:
    result = simulate(tiny(strategy={"name": "last-client"}, rounds=20, clients=5, cohort=3))
    cohorts = simulate(tiny(rounds=20, clients=5, cohort=3)).history[1:]

    asked = [record.cohort for record in result.history[1:]]
    assert [len(each) for each in asked] == [1] * 20
    assert all(set(one) <= set(all_of_them.cohort) for one, all_of_them in zip(asked, cohorts, strict=True))
    places = [record.cohort.index(one[0]) for one, record in zip(asked, cohorts, strict=True)]
    assert set(places) == {0, 1, 2}


def test_the_last_client_alone_makes_the_model() -> None:
    server = Server({"name": "last-client"}, tensors(w=[0.0]))

    assert server.round(answer(7, [5.0])) == {"w": [5.0]}
