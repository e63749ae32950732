from __future__ import annotations

from typing import Any

import pytest

from experiments.compare.charts.published_marks import Diamond
from experiments.compare.charts.values import Wanted
from experiments.presets.marks import marks_of, of_value, on_curve
from experiments.presets.preset import Published
from tests.experiments.presets.test_comparison import number, preset

FEDAVG = {"strategy": {"name": "fedavg"}, "local": {"epochs": 10}}
SHORT = {"strategy": {"name": "fedavg"}, "local": {"epochs": 1}}


def published(**fields: Any) -> Published:
    return Published.model_validate(number(**fields))


def test_of_several_cells_the_one_most_like_the_published_is_marked() -> None:
    given = preset(number(82.9), number(1.0, against={"strategy": {"name": "fedswap"}}))
    found = marks_of(given, {"short": SHORT, "whole": FEDAVG}, lambda: [FEDAVG])
    assert {cell: [each.value for each in own] for cell, own in found.items()} == {"whole": [82.9]}
    assert marks_of(given, {"other": {"strategy": {"name": "fedprox"}}}, list) == {}


def test_the_full_grid_is_not_asked_for_where_one_cell_matches() -> None:
    def never() -> list[dict[str, Any]]:
        raise AssertionError

    assert list(marks_of(preset(number()), {"only": FEDAVG}, never)) == ["only"]


def test_on_a_curve_values_stand_at_their_rounds_and_the_last_at_the_end() -> None:
    printed = [
        published(value=52.6, std=0.8, reading={"take": "at", "round": 20}),
        published(value=53.6, reading={"take": "at", "round": 30}),  # the run is shorter
        published(value=91.15, approximate=True, reading={"take": "final"}),
        published(value=99.0, reading={"take": "max"}),
        published(value=99.8, reading={"take": "final", "metric": "athena.detector_accuracy"}),
    ]
    assert on_curve(printed, "accuracy", 25) == [Diamond(52.6, "52.6 ± 0.8 %", 20), Diamond(91.15, "≈ 91.15 %", 25)]


@pytest.mark.parametrize(
    ("reading", "wanted"),
    [
        ({"take": "final"}, Wanted()),
        ({"take": "max"}, Wanted("best")),
        ({"take": "at", "round": 20}, Wanted("at", at=(10, 20))),
        ({"take": "reach", "target": 0.9}, Wanted("rounds", target=90.0)),
    ],
)
def test_a_chart_of_single_values_shows_the_same_number_as_printed(reading: dict[str, Any], wanted: Wanted) -> None:
    found = published(value=15.0, unit="round", reading=reading)
    assert of_value([found], "accuracy", wanted) == Diamond(15.0, "15 rounds")
    assert of_value([found], "loss", wanted) is None
    assert of_value([found], "accuracy", Wanted("last")) is None
