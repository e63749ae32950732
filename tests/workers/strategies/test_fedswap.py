from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.test_resume import bits, stop_and_resume
from tests.workers.engine.test_resume import curve as whole_curve
from tests.workers.engine.tiny import curve, distance, tiny, untimed
from tests.workers.strategies.by_hand import Server, tensors
from tests.workers.strategies.swap_by_loop import loss_on_test_set, run_with_swaps
from tests.workers.strategies.test_clients_by_loop import Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.engine.training.rule import ClientStore
from workers.strategies._exchange_rounds import is_average_round, is_swap_round
from workers.streams import stream

MODEL = 15 * 8
"""Bytes of three times four weights and three biases in double precision."""


def fedswap(h1: int, h2: int, **options: Any) -> dict[str, Any]:
    return {"name": "fedswap", "h1": h1, "h2": h2, **options}


def test_the_studys_610_steps_have_81_swaps() -> None:
    assert sum(is_swap_round(number, 5, 3) for number in range(1, 611)) == 81
    assert sum(is_average_round(number, 15) for number in range(1, 611)) == 41
    assert [number for number in range(1, 33) if is_swap_round(number, 5, 3)] == [6, 11, 21, 26]


def test_two_clients_swap_and_the_holder_decides_the_weight() -> None:
    """1 goes to the client with 3 samples, 5 to the one with 1: (3 * 1 + 1 * 5) / 4."""
    server = Server(fedswap(1, 2), tensors(w=[0.0]))
    server.round({"samples": 1, "arrays": {"w": [8.0]}}, {"samples": 3, "arrays": {"w": [4.0]}})

    model = server.round({"samples": 1, "observed": {"w": [1.0]}}, {"samples": 3, "observed": {"w": [5.0]}})

    strategy: Any = server.method.server
    assert model == {"w": [5.0]}
    assert strategy.virtual["w"].tolist() == [2.0]
    assert strategy.reported == {"fedswap.swaps": 1.0, "bytes_peer": 16.0}


def test_clients_hold_each_others_models_afterwards() -> None:
    server = Server(fedswap(1, 2), tensors(w=[0.0]))
    server.round({"samples": 1, "arrays": {"w": [8.0]}}, {"samples": 3, "arrays": {"w": [4.0]}})
    server.round({"samples": 1, "observed": {"w": [1.0]}}, {"samples": 3, "observed": {"w": [5.0]}})
    store = ClientStore()
    store.write([4, 9], "w", torch.tensor([[1.0], [5.0]]))

    assert server.method.exchange is not None
    server.method.exchange(store, [4, 9])

    assert {client: kept["w"].tolist() for client, kept in store.kept.items()} == {4: [5.0], 9: [1.0]}


def test_after_an_average_nobody_goes_on_from_an_own_model() -> None:
    server = Server(fedswap(1, 2), tensors(w=[0.0]))
    server.round({"samples": 1, "arrays": {"w": [8.0]}})
    store = ClientStore()
    store.write([4, 9], "w", torch.tensor([[1.0], [5.0]]))

    assert server.method.exchange is not None
    server.method.exchange(store, [4])

    assert store.kept == {}


def test_rounds_that_nobody_answers_swap_nothing() -> None:
    spec = tiny(strategy=fedswap(1, 4), rounds=12, cohort=2, client_dropout=0.7)

    records = simulate(spec).history[1:]

    assert any(record.metrics.get("failures") == 2 for record in records)
    assert [record.metrics.get("fedswap.swaps", 0) for record in records if "failures" in record.metrics].count(1) == 0


def test_it_equals_plain_loops() -> None:
    spec = spec_of(fedswap(2, 3)) | {"rounds": 9}
    reference = Reference(spec)

    def pairs(number: int, *_: Any) -> list[tuple[int, int]]:
        order = stream(0, "strategy", round=number).permutation(5)
        return [(order[0], order[1]), (order[2], order[3])]

    evaluated_models = run_with_swaps(reference, 9, 2, 3, pairs)
    result = simulate(spec)

    reference.model = evaluated_models[-1]
    assert_equal_models(result, reference)
    expected = [loss_on_test_set(reference, model) for model in evaluated_models]
    assert curve(result, "loss")[1:] == pytest.approx(expected, abs=1e-12)
    assert curve(result, "fedswap.swaps") == [0, 0, 2, 0, 2, 0, 0, 0, 2]


def test_h1_and_h2_of_one_are_fedavg() -> None:
    assert distance(simulate(tiny(strategy=fedswap(1, 1))), simulate(tiny())) == 0


def test_no_swaps_are_fedavg_in_one_of_six_rounds() -> None:
    swapping = simulate(tiny(strategy=fedswap(2, 3, swap_share=0.0), rounds=8))
    every = simulate(tiny(strategy={"name": "fedavg", "every": 6}, rounds=8))

    assert distance(swapping, every) == 0
    assert curve(swapping, "loss") == curve(every, "loss")
    assert [record.cohort for record in swapping.history] == [record.cohort for record in every.history]


def test_a_cycles_traffic_is_the_studys() -> None:
    """K = 4, h2 = 3: (h2 - 1) K models between clients, K up, K down. A reply has three scalars, a request one."""
    result = simulate(tiny(strategy=fedswap(2, 3), rounds=7, clients=4, cohort=None))

    assert curve(result, "bytes_peer") == [0, 0, 0, 4 * MODEL, 0, 4 * MODEL, 0, 0]
    assert sum(curve(result, "bytes_up")[2:]) == 4 * (MODEL + 3 * 8)
    assert sum(curve(result, "bytes_down")[2:]) == 4 * (MODEL + 8)


def test_participants_stay_for_a_whole_cycle() -> None:
    cohorts = [record.cohort for record in simulate(tiny(strategy=fedswap(2, 2), rounds=9)).history[1:]]

    assert cohorts[1] == cohorts[2] == cohorts[3] == cohorts[4]
    assert cohorts[5] == cohorts[6] == cohorts[7] == cohorts[8]
    assert len(set(cohorts)) > 1


@pytest.mark.parametrize("name", ["fedswap", "simfedswap"])
def test_stacks_and_single_clients_swap_alike(name: str) -> None:
    spec = tiny(strategy={"name": name, "h1": 1, "h2": 4}, rounds=6, stragglers=0.5)
    stacked, alone = simulate(spec), simulate(spec | {"engine": "sequential"})

    assert distance(stacked, alone) < 1e-12
    for one, other in zip(untimed(stacked), untimed(alone), strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    assert bits(simulate(spec)) == bits(stacked)


@pytest.mark.parametrize("name", ["fedswap", "simfedswap"])
@pytest.mark.parametrize("steps", [9, 21, 38])
def test_a_run_stopped_between_swaps_goes_on_to_the_same_end(name: str, steps: int, tmp_path: Path) -> None:
    spec = tiny(strategy={"name": name, "h1": 1, "h2": 3}, rounds=6, precision="float32")
    expected = simulate(spec, device="cpu")

    _, result = stop_and_resume(spec, tmp_path, steps)

    assert whole_curve(result.history) == whole_curve(expected.history)
    assert bits(result) == bits(expected)


@pytest.mark.parametrize("name", ["fedswap", "simfedswap"])
def test_clients_that_fail_do_not_swap(name: str) -> None:
    spec = tiny(strategy={"name": name, "h1": 1, "h2": 4}, rounds=12, cohort=None, client_dropout=0.4)

    for record in simulate(spec).history[1:]:
        answered = 5 - record.metrics.get("failures", 0)
        expected = answered // 2 if is_swap_round(record.round, 1, 4) else 0
        assert record.metrics.get("fedswap.swaps", 0) == expected


@pytest.mark.parametrize("name", ["fedswap", "simfedswap"])
def test_a_diverged_run_is_a_result(name: str) -> None:
    local = {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 1e200}}

    result = simulate(tiny(strategy={"name": name, "h1": 1, "h2": 4}, rounds=5, local=local, model={"name": "mlp-50"}))

    assert not all(np.isfinite(curve(result, "loss")))
    assert len(result.history) == 6
