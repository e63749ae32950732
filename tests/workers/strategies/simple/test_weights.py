"""Weights reckon as numbers do: with each other, with numbers, and with a number for each client."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from workers.strategies.simple._weights import Weights, WeightsError

MODEL = Weights({"w": torch.tensor([[1.0, 2.0]]), "b": torch.tensor([3.0])})
CLIENTS = Weights({"w": torch.tensor([[[1.0, 2.0]], [[3.0, 5.0]]]), "b": torch.tensor([[3.0], [4.0]])}, 2)


def values(weights: Weights) -> dict[str, list[float]]:
    return {name: tensor.tolist() for name, tensor in weights.items()}


def test_with_other_weights_and_with_numbers() -> None:
    assert values(MODEL + MODEL * 2) == {"w": [[3.0, 6.0]], "b": [9.0]}
    assert values(1 - MODEL / 2) == {"w": [[0.5, 0.0]], "b": [-0.5]}
    assert values(6 / MODEL) == {"w": [[6.0, 3.0]], "b": [2.0]}
    assert values(MODEL**2) == {"w": [[1.0, 4.0]], "b": [9.0]}
    assert values((-MODEL).abs()) == values(MODEL)
    assert values((MODEL - 2).sign()) == {"w": [[-1.0, 0.0]], "b": [1.0]}
    assert values((MODEL * MODEL).sqrt().clamp(1.5, 2.5)) == {"w": [[1.5, 2.0]], "b": [2.5]}
    assert values(np.float64(2) * MODEL) == values(torch.tensor(2.0) * MODEL) == {"w": [[2.0, 4.0]], "b": [6.0]}


def test_of_clients_with_one_model_and_with_a_number_for_each() -> None:
    assert values(CLIENTS - MODEL) == {"w": [[[0.0, 0.0]], [[2.0, 3.0]]], "b": [[0.0], [1.0]]}
    assert (MODEL - CLIENTS).clients == 2
    each = torch.tensor([10, 2])
    for product in (CLIENTS * each, each * CLIENTS):
        assert values(product) == {"w": [[[10.0, 20.0]], [[6.0, 10.0]]], "b": [[30.0], [8.0]]}
    assert values(each - CLIENTS)["b"] == [[7.0], [-2.0]]
    assert values(each / CLIENTS)["w"] == [[[10.0, 5.0]], [[pytest.approx(2 / 3), pytest.approx(0.4)]]]


def test_numbers_of_a_higher_precision_leave_the_weights_as_precise_as_they_are() -> None:
    product = CLIENTS * torch.tensor([1.0, 2.0], dtype=torch.float64)

    assert {tensor.dtype for _, tensor in product.items()} == {torch.float32}


def test_lengths_and_products_go_over_all_parameters() -> None:
    """1 + 4 + 9 = 14; 9 + 25 + 16 = 50; 1 * 3 + 2 * 5 + 3 * 4 = 25."""
    assert MODEL.dot(MODEL).item() == 14.0
    assert CLIENTS.dot(CLIENTS).tolist() == [14.0, 50.0]
    assert CLIENTS.dot(MODEL).tolist() == [14.0, 25.0]
    assert (CLIENTS / CLIENTS.norm()).norm().tolist() == pytest.approx([1.0, 1.0])


def test_sums_and_means_go_over_the_clients() -> None:
    assert values(CLIENTS.sum()) == {"w": [[4.0, 7.0]], "b": [7.0]}
    assert values(CLIENTS.mean()) == {"w": [[2.0, 3.5]], "b": [3.5]}
    assert values(CLIENTS.sum(torch.tensor([1, 2]))) == {"w": [[7.0, 12.0]], "b": [11.0]}
    assert values(CLIENTS.mean(torch.tensor([3, 1]))) == {"w": [[1.5, 2.75]], "b": [3.25]}
    assert CLIENTS.mean().clients is None


def test_assigning_in_place_makes_a_new_value() -> None:
    before = MODEL
    after = MODEL
    after -= 1

    assert values(before) == values(MODEL) == {"w": [[1.0, 2.0]], "b": [3.0]}
    assert values(after) == {"w": [[0.0, 1.0]], "b": [2.0]}


def test_map_applies_a_function_of_torchs() -> None:
    assert values(MODEL.map(torch.maximum, 2 * MODEL - 2)) == {"w": [[1.0, 2.0]], "b": [4.0]}


@pytest.mark.parametrize(
    ("reckon", "reason"),
    [
        (lambda: CLIENTS + torch.zeros(3), "does not go with weights of 2 clients"),
        (lambda: MODEL * torch.ones(2), r"A tensor of shape \(2,\) does not go with weights of one model"),
        (lambda: MODEL + Weights({"w": torch.zeros(1, 2)}), "have other parameters"),
        (lambda: CLIENTS + Weights(CLIENTS.tensors, 3), "2 and 3 of them"),
        (lambda: MODEL.mean(), "These weights are one model"),
    ],
)
def test_what_does_not_go_together_is_refused(reckon: object, reason: str) -> None:
    with pytest.raises(WeightsError, match=reason):
        reckon()  # type: ignore[operator]


def test_a_text_is_no_number() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        MODEL + "1"  # type: ignore[operator]
