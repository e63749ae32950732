"""The geometric median and Bulyan, with numbers worked out by hand and against plain loops."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.test_clients_by_loop import ROUNDS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.errors import SpecError
from workers.spec import parse_run
from workers.strategies._robust import by_coordinate, mean_near_median, trimmed_mean

NAN = float("nan")


def bulyan(malicious: int) -> Server:
    """Without the spec's bounds: a round made by hand is as large as it is."""
    by_hand = Server({"name": "bulyan"}, tensors(w=[0.5]))
    by_hand.method.server.aggregation.malicious = malicious  # type: ignore[attr-defined]
    return by_hand


def answers(*points: float) -> list[dict[str, Any]]:
    return [answer(2, [point]) for point in points]


def test_the_geometric_median_counts_a_model_less_the_further_it_is() -> None:
    """From the mean 11/3 of 0, 1 and 10: distances 11/3, 8/3, 19/3, so that they count 3/11, 3/8 and 3/19."""
    counts = [Fraction(3, 11), Fraction(3, 8), Fraction(3, 19)]
    expected = (counts[1] + 10 * counts[2]) / sum(counts)

    result = Server({"name": "rfa", "iterations": 1}, tensors(w=[0.0])).round(*answers(0.0, 1.0, 10.0))

    assert result["w"] == pytest.approx([float(expected)], abs=1e-14)


def test_the_geometric_median_of_a_line_is_its_median_and_bears_what_is_not_finite() -> None:
    server = Server({"name": "rfa", "iterations": 200}, tensors(w=[0.0]))

    assert server.round(*answers(0.0, 1.0, 1e6))["w"] == pytest.approx([1.0], abs=1e-3)
    assert server.round(*answers(0.0, 1.0, 2.0, NAN))["w"] == pytest.approx([1.0], abs=1e-3)


def test_bulyan_keeps_what_krum_and_the_median_agree_on() -> None:
    """One malicious of seven: five are chosen, and of these the three nearest to their median are averaged.

    Krum leaves 100 and, of those that are left at the end, 9 out: 0, 1, 2, 4, 5 have the median 2, and 1, 2, 4 or 0 lie
    nearest: 1 is one away, 0 and 4 two each, and the smaller counts first.
    """
    result = bulyan(1).round(*answers(0.0, 1.0, 2.0, 4.0, 5.0, 9.0, 100.0))

    assert result["w"] == pytest.approx([1.0], abs=1e-15)


def test_bulyan_without_malicious_clients_is_the_plain_mean() -> None:
    assert bulyan(0).round(*answers(1.0, 2.0, 6.0)) == {"w": [3.0]}


def test_the_values_nearest_to_the_median_are_averaged_coordinate_by_coordinate() -> None:
    values = torch.tensor([[0.0, 9.0], [1.0, 8.0], [2.0, 0.0], [10.0, 7.0]])

    assert mean_near_median(values, 2).tolist() == [1.5, 7.5]


def test_the_nearest_values_are_those_that_a_sort_by_distance_finds() -> None:
    """Small whole numbers, so that many are equally far, and some that are not finite."""
    rng = np.random.default_rng(7)
    columns = rng.integers(0, 5, (400, 9)).astype(float)
    columns[:40, 0], columns[20:60, 1] = NAN, np.inf

    for keep in range(1, 10):
        expected = []
        for column in np.sort(columns, axis=1):
            nearest = sorted(column, key=lambda value: np.nan_to_num(abs(value - column[4]), nan=np.inf))[:keep]
            expected.append(float(np.mean(nearest)))
        found = mean_near_median(torch.from_numpy(columns.T.copy()), keep).tolist()
        assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_coordinates_are_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [torch.from_numpy(np.random.default_rng(seed).standard_normal((3, 5, 7))) for seed in range(6)]
    whole = trimmed_mean(torch.stack(models), 2)
    monkeypatch.setattr("workers.strategies._robust.COORDINATES", 10)

    assert torch.equal(by_coordinate(models, lambda values: trimmed_mean(values, 2)), whole)
    assert by_coordinate([torch.tensor(1.0), torch.tensor(4.0)], lambda values: trimmed_mean(values, 0)).item() == 2.5


def test_parts_of_a_layer_have_the_bits_of_the_whole() -> None:
    models = [torch.from_numpy(np.random.default_rng(seed).standard_normal(40_000, np.float32)) for seed in range(100)]
    assert torch.equal(
        by_coordinate(models, lambda values: trimmed_mean(values, 20)), trimmed_mean(torch.stack(models), 20)
    )


def test_bulyan_needs_four_times_as_many_and_three() -> None:
    with pytest.raises(SpecError, match="needs 7 or more; it has 5"):
        parse_run(spec_of({"name": "bulyan", "malicious": 1}))


def test_the_geometric_median_equals_plain_loops() -> None:
    spec = spec_of({"name": "rfa", "iterations": 4})
    reference = Reference(spec)
    for _ in range(ROUNDS):
        models = [reference.descend(client) for client in range(5)]
        flat = np.array([np.concatenate([each.ravel() for each in model]) for model in models])
        weights = reference.shares
        for _ in range(4):
            distances = np.linalg.norm(flat - weights @ flat, axis=1)
            weights = reference.shares / np.maximum(1e-6, distances)
            weights /= weights.sum()
        reference.model = [sum(w * m[i] for w, m in zip(weights, models, strict=True)) for i in range(2)]

    assert_equal_models(simulate(spec), reference)
