from __future__ import annotations

from experiments.charts.styles import Placed, Style
from experiments.compare.charts.against import against_info
from experiments.compare.charts.curves import X_AXES, compare_curves_info
from experiments.compare.charts.published_marks import (
    Diamond,
    against_diamonds,
    bar_diamonds,
    curve_diamonds,
    told,
)
from experiments.compare.displays.bars import bars_info
from experiments.labels.metrics import metric_label
from experiments.statistics.intervals import Sample
from experiments.statistics.over_seeds import CurveStatistics

ACCURACY = metric_label("accuracy")
PLACES = {
    "a": Placed(Style("fedavg", 0, "solid"), "", "iid"),
    "b": Placed(Style("fedavg", 0, "solid"), "", "skewed"),
}
POINTS = [CurveStatistics(cell, number, 0.5, None, None, None, 1, 0) for cell in "ab" for number in (1, 2)]


def test_a_printed_value_stands_in_its_cells_panel_and_is_told() -> None:
    info = compare_curves_info(POINTS, PLACES, ACCURACY)
    (diamond,) = curve_diamonds(info, PLACES, {"b": [Diamond(82.9, "82.9 ± 0.3 %", 2)], "a": [], "gone": []})

    assert (diamond["x"], diamond["y"], diamond["xaxis"]) == ([2], [82.9], "x2")
    assert diamond["marker"]["symbol"] == "diamond-open"
    assert diamond["legendgroup"] == "fedavg"  # hidden together with its line
    assert told([diamond]) == " Published: fedavg at 2: 82.9 ± 0.3 %."


def test_bytes_have_no_printed_rounds() -> None:
    info = compare_curves_info(POINTS, PLACES, ACCURACY, x=X_AXES["bytes"])
    assert curve_diamonds(info, PLACES, {"a": [Diamond(82.9, "82.9 %", 2)]}) == []
    assert told([]) == ""


def test_against_an_axis_it_stands_at_its_cells_value() -> None:
    places = {cell: Placed(Style("fedavg", 3, "solid"), "", "") for cell in "ab"}
    ratios = {"a": 0.0, "b": 0.4}
    info = against_info(places, ratios, {"a": Sample({0: 0.9})}, ACCURACY, axis="hybrid.ratio")
    (diamond,) = against_diamonds(info, places, ratios, {cell: Diamond(91.15, "91.15 %") for cell in "ab"})
    assert (diamond["x"], diamond["y"], diamond["meta"]) == ([0.0, 0.4], [91.15, 91.15], {"hue": 3})


def test_on_bars_it_lies_along_the_bar() -> None:
    info = bars_info(PLACES, {"a": Sample({0: 0.5})}, ACCURACY)
    (diamond,) = bar_diamonds(info, PLACES, {cell: Diamond(73.0, "73 ± 1 %") for cell in "ab"})
    assert (diamond["x"], diamond["y"]) == ([73.0], ["fedavg · iid"])
