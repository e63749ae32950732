from __future__ import annotations

import numpy as np
from flwr.serverapp.strategy import FedMedian

from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.flowers_own import aggregate_with
from tests.workers.strategies.test_clients_by_loop import ROUNDS, Reference, assert_equal_models, spec_of
from workers.engine import simulate

NAN = float("nan")


def server() -> Server:
    return Server({"name": "fedmedian"}, tensors(w=[0.0, 0.0]))


def test_of_three_clients_the_middle_value_of_each_coordinate() -> None:
    assert server().round(answer(1, [1.0, 9.0]), answer(1, [2.0, -5.0]), answer(90, [70.0, 0.0])) == {"w": [2.0, 0.0]}


def test_of_four_clients_the_mean_of_the_middle_two_as_flower_has_it() -> None:
    answers = [answer(1, [1.0, 9.0]), answer(1, [2.0, -5.0]), answer(90, [70.0, 0.0]), answer(2, [4.0, 1.0])]

    assert server().round(*answers) == {"w": [3.0, 0.5]}
    assert aggregate_with(FedMedian(), *answers) == [3.0, 0.5]


def test_of_one_or_two_clients_the_mean() -> None:
    assert server().round(answer(3, [1.0, 9.0])) == {"w": [1.0, 9.0]}
    assert server().round(answer(3, [1.0, 9.0]), answer(1, [2.0, 0.0])) == {"w": [1.5, 4.5]}


def test_a_minority_of_nan_changes_nothing_much() -> None:
    assert server().round(answer(1, [1.0, 9.0]), answer(1, [2.0, -5.0]), answer(1, [NAN, NAN])) == {"w": [2.0, 9.0]}


def test_batch_statistics_are_medians_too() -> None:
    by_hand = Server({"name": "fedmedian"}, tensors(w=[0.0], mean=[0.0]), buffers=("mean",))

    model = by_hand.round(*[{"samples": 1, "arrays": {"w": [1.0], "mean": [mean]}} for mean in (1.0, 2.0, 9.0)])

    assert model == {"w": [1.0], "mean": [2.0]}


def test_it_equals_plain_loops() -> None:
    spec = spec_of({"name": "fedmedian"})
    reference = Reference(spec)
    for _ in range(ROUNDS):
        models = [reference.descend(client) for client in range(5)]
        reference.model = [np.median([model[i] for model in models], axis=0) for i in range(2)]

    assert_equal_models(simulate(spec), reference)
