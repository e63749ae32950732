from __future__ import annotations

from typing import Any

import pytest

from experiments.compare.charts.published_marks import PublishedMark
from experiments.compare.charts.values import ValueChoice
from experiments.presets.marks import mark_of_value, marks_on_curve, published_by_cell
from experiments.presets.preset import Published
from tests.experiments.presets.test_comparison import number, preset

FEDAVG = {"strategy": {"name": "fedavg"}, "local": {"epochs": 10}}
SHORT = {"strategy": {"name": "fedavg"}, "local": {"epochs": 1}}


def published_number(**fields: Any) -> Published:
    return Published.model_validate(number(**fields))


def test_of_several_cells_the_one_most_like_the_published_is_marked() -> None:
    one_preset = preset(number(82.9), number(1.0, against={"strategy": {"name": "fedswap"}}))
    found = published_by_cell(one_preset, {"short": SHORT, "whole": FEDAVG}, lambda: [FEDAVG])
    assert {cell: [each.value for each in own] for cell, own in found.items()} == {"whole": [82.9]}
    assert published_by_cell(one_preset, {"other": {"strategy": {"name": "fedprox"}}}, list) == {}


def test_the_full_grid_is_not_asked_for_where_one_cell_matches() -> None:
    def never() -> list[dict[str, Any]]:
        raise AssertionError

    assert list(published_by_cell(preset(number()), {"only": FEDAVG}, never)) == ["only"]


def test_on_a_curve_values_stand_at_their_rounds_and_the_last_at_the_end() -> None:
    printed = [
        published_number(value=52.6, std=0.8, reading={"take": "at", "round": 20}),
        published_number(value=53.6, reading={"take": "at", "round": 30}),  # the run is shorter
        published_number(value=91.15, approximate=True, reading={"take": "final"}),
        published_number(value=99.0, reading={"take": "max"}),
        published_number(value=99.8, reading={"take": "final", "metric": "athena.detector_accuracy"}),
    ]
    assert marks_on_curve(printed, "accuracy", 25) == [
        PublishedMark(52.6, "52.6 ± 0.8 %", 20),
        PublishedMark(91.15, "≈ 91.15 %", 25),
    ]


@pytest.mark.parametrize(
    ("reading", "choice"),
    [
        ({"take": "final"}, ValueChoice()),
        ({"take": "max"}, ValueChoice("best")),
        ({"take": "at", "round": 20}, ValueChoice("at", at=(10, 20))),
        ({"take": "reach", "target": 0.9}, ValueChoice("rounds", target=90.0)),
    ],
)
def test_a_chart_of_single_values_shows_the_same_number_as_printed(
    reading: dict[str, Any], choice: ValueChoice
) -> None:
    printed = published_number(value=15.0, unit="round", reading=reading)
    assert mark_of_value([printed], "accuracy", choice) == PublishedMark(15.0, "15 rounds")
    assert mark_of_value([printed], "loss", choice) is None
    assert mark_of_value([printed], "accuracy", ValueChoice("last")) is None
