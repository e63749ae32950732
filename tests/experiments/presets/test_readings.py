from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import TypeAdapter

from experiments.presets.preset import Reading
from experiments.presets.readings import read_mean_curve, read_number, saved_percent

ACCURACY = {0: 0.99, 1: 0.5, 2: 0.7, 3: 0.7004, 4: 0.9, 5: 0.8}
CURVES = {"accuracy": ACCURACY, "fedswap.swaps": {0: 0.0, 1: 0.0, 2: 5.0, 3: 0.0, 4: 5.0}}


def reading(**fields: Any) -> Any:
    return TypeAdapter(Reading).validate_python(fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"take": "final"}, 0.8),
        ({"take": "at", "round": 2}, 0.7),
        ({"take": "at", "round": 9}, None),
        ({"take": "max"}, 0.9),  # not round 0, which is before training
        ({"take": "argmax"}, 4),
        ({"take": "mean", "first": 4, "last": 5}, 0.85),
        ({"take": "variance", "first": 4, "last": 5}, 0.005),  # (0.05^2 + 0.05^2) / 1
        ({"take": "mean", "first": 4, "last": 6}, None),  # the run has no round 6
        ({"take": "reach", "target": 0.7}, 2),
        ({"take": "reach", "target": 0.95}, None),
        ({"take": "converge", "tolerance": 0.001}, 3),
        ({"take": "converge", "tolerance": 0.0001}, None),
        ({"take": "converge", "tolerance": 0.0006}, 3),  # 0.0004 of 0.7 is 0.00057
        ({"take": "converge", "tolerance": 0.00055}, None),
        ({"take": "count", "metric": "fedswap.swaps"}, 2),
        ({"take": "final", "metric": "no.such"}, None),
    ],
)
def test_a_number_is_read_from_a_curve(fields: dict[str, Any], expected: float | None) -> None:
    number = read_number(reading(**fields), CURVES)
    assert number == (None if expected is None else pytest.approx(expected))


def test_several_metrics_are_read_one_by_one_and_averaged() -> None:
    curves = {"d.a": {1: 0.1, 2: 0.1}, "d.b": {1: 0.1, 2: 0.4, 3: 0.9, 4: 0.9}, "other": {1: 0.0, 2: 0.0}}
    assert read_number(reading(take="converge", metric="d.*"), curves) == pytest.approx((2 + 4) / 2)
    assert read_number(reading(take="reach", metric="d.*", target=0.5), curves) is None  # one of them never does


def test_a_diverged_run_has_a_best_round_and_no_finite_end() -> None:
    curves = {"accuracy": {1: 0.5, 2: math.nan}}
    assert read_number(reading(take="max"), curves) == 0.5
    assert math.isnan(read_number(reading(take="final"), curves) or 0.0)


def test_savings_are_those_of_all_rounds_or_of_the_worst_case() -> None:
    """Ours: 30 bytes a round, detectors converge in rounds 2 and 4 (mean 3, sd sqrt 2). Theirs: 400, in round 6."""
    curves = {
        "bytes_up": {0: 7.0, 1: 10.0, 2: 10.0},
        "bytes_down": {1: 20.0, 2: 20.0},
        "athena.detector_accuracy.a": {1: 0.5, 2: 0.5},
        "athena.detector_accuracy.b": {1: 0.1, 2: 0.2, 3: 0.3, 4: 0.3},
    }
    ours = {0: [curves]}
    accuracy = {1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4, 5: 0.5, 6: 0.5}
    theirs = {0: [{"bytes_up": {1: 400.0, 2: 400.0}, "accuracy": accuracy}]}

    assert saved_percent(reading(take="saved"), ours, theirs) == pytest.approx(100 * (1 - 60 / 800))
    worst = 100 * (1 - (3 + math.sqrt(2)) * 30 / (6 * 400))
    assert saved_percent(reading(take="saved", worst=True), ours, theirs) == pytest.approx(worst)
    formula = reading(take="saved", worst=True, own_bytes=100.0, other_bytes=200.0)
    assert saved_percent(formula, ours, theirs) == pytest.approx(100 * (1 - (3 + math.sqrt(2)) * 100 / (6 * 200)))


def test_the_best_of_the_mean_curve_is_not_the_mean_of_the_bests() -> None:
    """Bests 0.9 in round 1 and 0.8 in round 2; the mean curve is 0.5, 0.6."""
    seeds = {0: [{"accuracy": {0: 1.0, 1: 0.9, 2: 0.4}}], 1: [{"accuracy": {0: 1.0, 1: 0.1, 2: 0.8}}], 2: []}
    assert read_mean_curve(reading(take="max", of="mean-curve"), seeds) == pytest.approx(0.6)
    assert read_mean_curve(reading(take="argmax", of="mean-curve"), seeds) == 2
    assert read_mean_curve(reading(take="max", of="mean-curve"), {0: []}) is None


def test_what_was_found_before_training_is_read_from_round_0() -> None:
    assert read_number(reading(take="start", metric="athena.groups"), {"athena.groups": {0: 5.0}}) == 5.0
