from __future__ import annotations

from experiments.charts.styles import CellStyle, LineStyle
from experiments.compare.charts.against import against_info
from experiments.compare.charts.bars import bars_info
from experiments.compare.charts.curves import X_AXES, compare_curves_info
from experiments.compare.charts.published_marks import (
    PublishedMark,
    against_published_marks,
    bar_published_marks,
    curve_published_marks,
    published_marks_text,
)
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import Sample, SeedStatistics

ACCURACY = metric_label("accuracy")
STYLES = {
    "a": CellStyle(LineStyle("fedavg", 0, "solid"), "", "iid"),
    "b": CellStyle(LineStyle("fedavg", 0, "solid"), "", "skewed"),
}
POINTS = [SeedStatistics(cell, number, 0.5, None, None, None, 1, 0) for cell in "ab" for number in (1, 2)]


def test_a_printed_value_stands_in_its_cells_panel_and_is_told() -> None:
    info = compare_curves_info(POINTS, STYLES, ACCURACY)
    (trace,) = curve_published_marks(info, STYLES, {"b": [PublishedMark(82.9, "82.9 ± 0.3 %", 2)], "a": [], "gone": []})

    assert (trace["x"], trace["y"], trace["xaxis"]) == ([2], [82.9], "x2")
    assert trace["marker"]["symbol"] == "diamond-open"
    assert trace["legendgroup"] == "fedavg"  # hidden together with its line
    assert published_marks_text([trace]) == " Published: fedavg at 2: 82.9 ± 0.3 %."


def test_bytes_have_no_printed_rounds() -> None:
    info = compare_curves_info(POINTS, STYLES, ACCURACY, x=X_AXES["bytes"])
    assert curve_published_marks(info, STYLES, {"a": [PublishedMark(82.9, "82.9 %", 2)]}) == []
    assert published_marks_text([]) == ""


def test_against_an_axis_it_stands_at_its_cells_value() -> None:
    styles = {cell: CellStyle(LineStyle("fedavg", 3, "solid"), "", "") for cell in "ab"}
    ratios = {"a": 0.0, "b": 0.4}
    info = against_info(styles, ratios, {"a": Sample({0: 0.9})}, ACCURACY, axis="hybrid.ratio")
    (trace,) = against_published_marks(info, styles, ratios, {cell: PublishedMark(91.15, "91.15 %") for cell in "ab"})
    assert (trace["x"], trace["y"], trace["meta"]) == ([0.0, 0.4], [91.15, 91.15], {"hue": 3})


def test_against_an_axis_it_stands_in_the_panel_of_its_data_set() -> None:
    info = against_info(STYLES, {"a": 0.0, "b": 0.4}, dict.fromkeys("ab", Sample({0: 0.9})), ACCURACY, axis="clients")
    (trace,) = against_published_marks(info, STYLES, {"a": 0.0, "b": 0.4}, {"b": PublishedMark(91.15, "91.15 %")})
    assert (trace["x"], trace["y"], trace["xaxis"]) == ([0.4], [91.15], "x2")


def test_on_bars_it_lies_along_the_bar() -> None:
    info = bars_info(STYLES, {"a": Sample({0: 0.5})}, ACCURACY)
    (trace,) = bar_published_marks(info, STYLES, {cell: PublishedMark(73.0, "73 ± 1 %") for cell in "ab"})
    assert (trace["x"], trace["y"]) == ([73.0], ["fedavg · iid"])
