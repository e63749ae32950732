from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.workers.engine.tiny import curve, distance, tiny
from tests.workers.strategies.by_hand import Server, tensors
from tests.workers.strategies.swap_by_loop import Model, loss_on_test_set, run_with_swaps
from tests.workers.strategies.test_clients_by_loop import Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.streams import stream

MODEL = 15 * 8
SIMILARITIES = ["osad", "cca", "cka-linear", "cka-rbf", "dcka"]


def simfedswap(h1: int, h2: int, **options: Any) -> dict[str, Any]:
    return {"name": "simfedswap", "h1": h1, "h2": h2, **options}


def test_the_most_different_models_are_swapped_by_hand() -> None:
    """Absolute differences are largest between 0 and 9, then 1 and 4 are left.

    Samples 1, 2, 3 and 4 of 10 hold 9, 4, 1 and 0 then: (9 + 8 + 3 + 0) / 10.
    """
    server = Server(simfedswap(1, 2, similarity="osad"), tensors(w=[[0.0]]))  # type: ignore[list-item]
    answers = [
        {"samples": samples, "arrays": {"w": [[w]]}}
        for samples, w in zip((1, 2, 3, 4), (0.0, 1.0, 4.0, 9.0), strict=True)
    ]
    server.round(*answers)
    before = server.model

    server.round(*answers)

    strategy: Any = server.method.server
    assert strategy.pairs == [(0, 3), (1, 2)]
    assert strategy.virtual["w"].tolist() == [[2.0]]
    assert strategy.reported == {"fedswap.swaps": 2.0, "bytes_down": 32.0}
    assert server.model is before


def least_alike(models: list[Model], count: int) -> list[tuple[int, int]]:
    """Linear CKA of the weights of two models at a time."""
    free, pairs = set(range(len(models))), []
    for _ in range(count):
        least = min((alike(models[i][0], models[j][0]), i, j) for i in free for j in free if i < j)
        pairs.append(least[1:])
        free -= set(least[1:])
    return pairs


def alike(x: np.ndarray, y: np.ndarray) -> float:
    h = np.eye(len(x)) - 1 / len(x)
    k, other = h @ x @ x.T @ h, h @ y @ y.T @ h
    return float((k * other).sum() / np.sqrt((k * k).sum() * (other * other).sum()))


def greedily(number: int, models: list[Model]) -> list[tuple[int, int]]:
    free = stream(0, "strategy", round=number).permutation(5).tolist()
    pairs = []
    while len(free) > 1:
        one = free.pop(0)
        other = min(free, key=lambda each: alike(models[one][0], models[each][0]))
        free.remove(other)
        pairs.append((one, other))
    return pairs


@pytest.mark.parametrize("pairing", ["minimum", "greedy"])
def test_it_equals_plain_loops(pairing: str) -> None:
    spec = spec_of(simfedswap(2, 3, pairing=pairing)) | {"rounds": 9}
    reference = Reference(spec)

    def pairs(number: int, models: list[Model], _: Model) -> list[tuple[int, int]]:
        return least_alike(models, 2) if pairing == "minimum" else greedily(number, models)

    evaluated_models = run_with_swaps(reference, 9, 2, 3, pairs)
    result = simulate(spec)

    reference.model = evaluated_models[-1]
    assert_equal_models(result, reference)
    expected = [loss_on_test_set(reference, model) for model in evaluated_models]
    assert curve(result, "loss")[1:] == pytest.approx(expected, abs=1e-12)


def test_h1_and_h2_of_one_are_fedavg() -> None:
    assert distance(simulate(tiny(strategy=simfedswap(1, 1))), simulate(tiny())) == 0


def test_a_cycles_traffic_is_the_studys() -> None:
    """K = 4, h2 = 3: h2 K models up and as many down. A reply has three scalars, a request one."""
    result = simulate(tiny(strategy=simfedswap(2, 3), rounds=7, clients=4, cohort=None))

    assert sum(curve(result, "bytes_peer")) == 0
    assert sum(curve(result, "bytes_up")[2:]) == 3 * 4 * (MODEL + 3 * 8)
    assert sum(curve(result, "bytes_down")[2:]) == 3 * 4 * MODEL + 4 * 8


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("pairing", ["minimum", "greedy"])
def test_every_pairing_and_similarity_swaps(pairing: str, similarity: str) -> None:
    model = {"name": "mlp-50", "norm": "batch"}
    spec = tiny(strategy=simfedswap(1, 2, pairing=pairing, similarity=similarity), rounds=3, cohort=None, model=model)

    assert curve(simulate(spec), "fedswap.swaps") == [0, 2, 0]
