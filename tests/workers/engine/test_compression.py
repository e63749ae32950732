"""What arrives of a compressed movement, and the bytes it takes, worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.test_clients_by_loop import ROUNDS, Reference, assert_equal_models, spec_of
from workers.compression.compressors import COMPRESSORS, Quantise, RandomK, Sign, TopK
from workers.engine import simulate
from workers.engine.compression import compress
from workers.engine.conformance import check_engines, check_resume
from workers.errors import SpecError
from workers.spec import canonical_hash, parse_run

NAMES = [part.model_fields["name"].default for part in COMPRESSORS]


def movement() -> dict[str, torch.Tensor]:
    return {"w": torch.tensor([[1.0, -4.0], [0.5, 2.0]]), "b": torch.tensor([-3.0])}


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_top_k_keeps_the_values_that_moved_furthest_of_all_tensors_together() -> None:
    arriving, size = compress(TopK(share=0.4), movement(), rng())

    assert (arriving["w"].tolist(), arriving["b"].tolist()) == ([[0.0, -4.0], [0.0, 0.0]], [-3.0])
    assert size == 2 * (4 + 4)
    assert compress(TopK(share=0.01), movement(), rng())[0]["w"].tolist() == [[0.0, -4.0], [0.0, 0.0]]


def test_random_k_is_right_on_average_without_feedback() -> None:
    part, values, generator = RandomK(share=0.4, feedback=False), movement(), rng()
    draws = [compress(part, values, generator) for _ in range(4_000)]

    assert {size for _, size in draws} == {2 * 4 + 8}
    assert all(int((arriving["w"] != 0).sum() + (arriving["b"] != 0).sum()) == 2 for arriving, _ in draws)
    mean = torch.stack([arriving["w"] for arriving, _ in draws]).mean(0)
    assert mean.flatten().tolist() == pytest.approx([1.0, -4.0, 0.5, 2.0], abs=0.25)
    kept, _ = compress(RandomK(share=0.4), values, rng())
    assert set(kept["w"].flatten().tolist()) <= {0.0, 1.0, -4.0, 0.5, 2.0}


def test_quantised_values_are_multiples_and_right_on_average() -> None:
    """Three bits: three levels on each side, so that 4 is 3 units of 4/3; 2 is one and a half of them."""
    generator = rng()
    draws = [compress(Quantise(bits=3), movement(), generator) for _ in range(4_000)]
    values = torch.stack([arriving["w"] for arriving, _ in draws])

    assert {size for _, size in draws} == {2 + 2 * 4}
    assert set(np.round(values[:, 1, 1].numpy() * 3 / 4).tolist()) == {1.0, 2.0}
    assert set(values[:, 0, 1].tolist()) == {-4.0}
    assert values.mean(0).flatten().tolist() == pytest.approx([1.0, -4.0, 0.5, 2.0], abs=0.05)


def test_signs_have_the_mean_length_of_their_tensor() -> None:
    arriving, size = compress(Sign(), movement(), rng())

    assert (arriving["w"].tolist(), arriving["b"].tolist()) == ([[1.875, -1.875], [1.875, 1.875]], [-3.0])
    assert size == 1 + 2 * 4


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("feedback", [True, False])
def test_the_engines_agree_and_a_run_goes_on_to_the_bit(name: str, feedback: bool) -> None:
    share = {"share": 0.3} if name.endswith("k") else {}
    spec = tiny(compression={"name": name, "feedback": feedback, **share}, rounds=5)

    check_resume(tiny(compression={"name": name, "feedback": feedback, "direction": "both", **share}, rounds=5))
    if name != "sign":  # a value that is 0 but for rounding has either sign
        check_engines(spec)
    check_resume(spec)


def largest_four(values: np.ndarray) -> np.ndarray:
    places = np.argsort(-np.abs(values))[:4]
    return np.where(np.isin(np.arange(15), places), values, 0.0)


@pytest.mark.parametrize("direction", ["up", "both"])
def test_error_feedback_equals_plain_loops(direction: str) -> None:
    """Top 4 of 15 values; what was left out is added to its sender's next movement."""
    spec = {
        **spec_of({"name": "fedavg"}),
        "compression": {"name": "top-k", "share": 0.3, "direction": direction},
    }
    reference = Reference({key: value for key, value in spec.items() if key != "compression"})
    rest = np.zeros((5, 15))
    known = np.concatenate([value.ravel() for value in reference.model])
    for _ in range(ROUNDS):
        server = np.concatenate([value.ravel() for value in reference.model])
        before = server if direction == "up" else known + largest_four(server - known)
        known, untold = before, server - before
        reference.model = [before[:12].reshape(3, 4), before[12:]]
        models = []
        for client in range(5):
            moved = np.concatenate([value.ravel() for value in reference.descend(client)]) - before + rest[client]
            arriving = largest_four(moved)
            rest[client] = moved - arriving
            model = before + arriving
            models.append([model[:12].reshape(3, 4), model[12:]])
        weight, bias = reference.mean(models)
        reference.model = [weight + untold[:12].reshape(3, 4), bias + untold[12:]]

    assert_equal_models(simulate(spec), reference)


def test_bytes_are_those_that_would_travel() -> None:
    """15 values of 8 bytes and three scalars from each of three clients; then 4 values with their places."""
    whole, short = simulate(tiny()), simulate(tiny(compression={"name": "top-k", "share": 0.3}))

    assert curve(whole, "bytes_up")[1:] == [3 * (15 * 8 + 24.0)] * 3
    assert curve(short, "bytes_up")[1:] == [3 * (4 * (8 + 4) + 24.0)] * 3
    assert curve(short, "bytes_down") == curve(whole, "bytes_down")


def test_all_five_clients_are_told_of_the_servers_movement() -> None:
    """First 15 values of 8 bytes each, then 4 values with their places; what else the three get stays."""
    both = simulate(tiny(compression={"name": "top-k", "share": 0.3, "direction": "both"}))
    extra = curve(simulate(tiny()), "bytes_down")[1] - 3 * 15 * 8

    assert curve(both, "bytes_down")[1:] == [5 * 15 * 8 + extra, *[5 * 4 * (8 + 4) + extra] * 2]


def test_keeping_everything_is_the_run_without_compression() -> None:
    whole = simulate(tiny())
    for direction in ("up", "both"):
        same = simulate(tiny(compression={"name": "top-k", "share": 1.0, "direction": direction}))
        assert curve(same, "loss") == pytest.approx(curve(whole, "loss"), abs=1e-12)


@pytest.mark.parametrize("strategy", [{"name": "local-only"}, {"name": "fedswap"}, {"name": "centralised"}])
def test_where_no_models_are_sent_nothing_can_be_compressed(strategy: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="does not send every client's model"):
        parse_run(tiny(strategy=strategy, compression={"name": "sign"}))


def test_compression_is_part_of_a_runs_identity() -> None:
    parts = [None, {"name": "sign"}, {"name": "sign", "feedback": False}, {"name": "quantise"}]

    assert len({canonical_hash(parse_run(tiny(compression=part))) for part in parts}) == 4
