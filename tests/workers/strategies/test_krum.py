"""Krum and Multi-Krum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.serverapp.strategy import Krum, MultiKrum

from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.flowers_own import aggregate_with
from tests.workers.strategies.test_clients_by_loop import ROUNDS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.errors import SpecError
from workers.spec import parse_run

NAN = float("nan")
POINTS = [0.0, 1.0, 3.0, 7.0, 100.0]
"""With one malicious of five, two neighbours count: scores 1 + 9, 1 + 4, 4 + 9, 16 + 36 and 93^2 + 97^2."""


def server(name: str, **options: Any) -> Server:
    """Without the spec's bounds: a round made by hand is as large as it is."""
    by_hand = Server({"name": name}, tensors(w=[0.5]))
    for option, value in options.items():
        setattr(by_hand.method.server.aggregation, option, value)  # type: ignore[attr-defined]
    return by_hand


def answers(points: list[float]) -> list[dict[str, Any]]:
    return [answer(samples, [point]) for samples, point in enumerate(points, start=1)]


def test_krum_takes_the_model_nearest_to_its_neighbours_as_flower_has_it() -> None:
    assert server("krum", malicious=1).round(*answers(POINTS)) == {"w": [1.0]}
    assert aggregate_with(Krum(num_malicious_nodes=1), *answers(POINTS)) == [1.0]


def test_multikrum_averages_the_best_without_weighing_them() -> None:
    """The best three are 1, 0 and 3. Flower weighs them by their samples 2, 1 and 3."""
    by_hand = server("multikrum", malicious=1, keep=3)

    assert by_hand.round(*answers(POINTS))["w"] == pytest.approx([4 / 3], abs=1e-15)
    flowers = MultiKrum(num_malicious_nodes=1, num_nodes_to_select=3)
    assert aggregate_with(flowers, *answers(POINTS)) == pytest.approx([11 / 6])


def test_multikrum_keeps_all_but_the_malicious_unless_told() -> None:
    """0, 1, 3 and 7."""
    assert server("multikrum", malicious=1).round(*answers(POINTS)) == {"w": [2.75]}


def test_keeping_all_is_the_plain_mean_and_keeping_one_is_krum() -> None:
    assert server("multikrum", keep=5).round(*answers(POINTS))["w"] == pytest.approx([22.2], abs=1e-13)
    assert server("multikrum", malicious=1, keep=1).round(*answers(POINTS)) == {"w": [1.0]}


def test_a_model_that_is_not_finite_is_never_chosen_while_another_is() -> None:
    assert server("krum", malicious=1).round(*answers([NAN, 0.0, 1.0, 1.5, 9.0])) == {"w": [1.0]}
    assert server("krum", malicious=1).round(*answers([float("inf"), 0.0, 1.0, 1.5, 9.0])) == {"w": [1.0]}


def test_a_round_of_one_client_takes_its_model() -> None:
    assert server("krum", malicious=1).round(*answers([4.0])) == {"w": [4.0]}


def test_batch_statistics_have_no_say_in_the_choice() -> None:
    start = tensors(w=[0.0], mean=[0.0])
    by_hand = Server({"name": "krum"}, start, buffers=("mean",))
    points = [(0.0, 900.0), (1.0, 5.0), (9.0, 5.0)]

    model = by_hand.round(*[{"samples": 1, "arrays": {"w": [w], "mean": [mean]}} for w, mean in points])

    assert model == {"w": [0.0], "mean": [900.0]}


@pytest.mark.parametrize("name", ["krum", "multikrum"])
def test_more_malicious_clients_than_can_be_borne_are_refused(name: str) -> None:
    with pytest.raises(SpecError, match="To bear 2 malicious clients a round needs 7 or more; it has 5"):
        parse_run(spec_of({"name": name, "malicious": 2}))


def test_keeping_more_than_there_are_is_refused() -> None:
    with pytest.raises(SpecError, match="Keeps 6 models, but a round has only 5 clients"):
        parse_run(spec_of({"name": "multikrum", "keep": 6}))


@pytest.mark.parametrize(("name", "options", "keep"), [("krum", {}, 1), ("multikrum", {"keep": 3}, 3)])
def test_it_equals_plain_loops(name: str, options: dict[str, int], keep: int) -> None:
    spec = spec_of({"name": name, "malicious": 1, **options})
    reference = Reference(spec)
    for _ in range(ROUNDS):
        models = [reference.descend(client) for client in range(5)]
        flat = [np.concatenate([value.ravel() for value in model]) for model in models]
        scores = [sum(sorted(float(((one - other) ** 2).sum()) for other in flat)[1:3]) for one in flat]
        best = sorted(range(5), key=lambda client: scores[client])[:keep]
        reference.model = [np.mean([models[client][i] for client in best], axis=0) for i in range(2)]

    assert_equal_models(simulate(spec), reference)
