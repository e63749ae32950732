from __future__ import annotations

import plotly.graph_objects as go

from experiments.charts.curves import (
    Curve,
    CurvePoint,
    CurvesInfo,
    curves_description,
    curves_figure,
    curves_info,
    curves_legend,
    curves_notes,
)
from experiments.charts.styles import LineStyle
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import SeedStatistics


def point(
    cell: str,
    number: int,
    mean: float | None,
    std: float | None = None,
    low: float | None = None,
    high: float | None = None,
    n: int = 1,
    lost: int = 0,
    x: float = 0.0,
    values: tuple[float, ...] = (),
) -> SeedStatistics:
    return SeedStatistics(cell, number, mean, std, low, high, n, lost, x, values)


STYLES = {"a": LineStyle("fedavg", 0, "solid"), "b": LineStyle("fedprox", 1, "dash")}


def test_it_shows_shares_in_percent_with_a_band_of_one_std() -> None:
    points = [point("a", 0, 0.125, 0.0625, 0.0625, 0.1875, 3), point("a", 1, 0.5, 0.25, 0.25, 0.75, 3)]
    info = curves_info(points, STYLES, "accuracy")
    assert info == CurvesInfo(
        metric_label("accuracy"),
        "std",
        (Curve("fedavg", 0, "solid", (CurvePoint(0, 12.5, 3, (6.25, 18.75)), CurvePoint(1, 50.0, 3, (25.0, 75.0)))),),
        0,
    )


def test_it_draws_from_the_lowest_to_the_highest_seed_if_asked() -> None:
    info = curves_info([point("a", 0, 2.0, 0.5, 1.0, 4.0, 3)], STYLES, "loss", "range")
    assert info.curves[0].points == (CurvePoint(0, 2.0, 3, (1.0, 4.0)),)


def test_it_has_no_band_for_one_seed() -> None:
    for band in ("std", "range"):
        info = curves_info([point("a", 0, 2.0, None, 2.0, 2.0, 1)], STYLES, "loss", band)
        assert info.curves[0].points == (CurvePoint(0, 2.0, 1, None),)


def test_it_leaves_out_rounds_without_a_finite_value_and_counts_them() -> None:
    points = [point("a", 0, 1.0, n=1), point("a", 1, None, n=0, lost=1), point("b", 0, None, n=0, lost=2)]
    info = curves_info(points, STYLES, "loss")
    assert [curve.label for curve in info.curves] == ["fedavg"]
    assert info.lost == 3
    assert "3 values are not finite (diverged) and left out of the means" in curves_notes(info, 2, 2)


def test_it_tells_how_many_seeds_are_behind_a_curve() -> None:
    level = curves_info([point("a", 0, 1.0, n=3), point("a", 1, 1.0, n=3)], STYLES, "loss")
    lagging = curves_info([point("a", 0, 1.0, n=3), point("a", 1, 1.0, n=1)], STYLES, "loss")
    assert level.curves[0].n == "3"
    assert lagging.curves[0].n == "1–3"


def test_its_figure_has_a_band_below_each_line_and_units_on_the_axes() -> None:
    points = [point("a", 0, 0.25, 0.25, n=2), point("a", 1, 0.5, 0.25, n=2)]
    figure = curves_figure(curves_info(points, STYLES, "accuracy"))
    band, line = figure["data"]
    assert (band["x"], band["y"]) == ([0, 1, 1, 0], [50.0, 75.0, 25.0, 0.0])
    assert (line["x"], line["y"], line["name"]) == ([0, 1], [25.0, 50.0], "fedavg · n=2")
    assert line["line"] == {"dash": "solid", "width": 2}
    assert line["customdata"] == ["25.00 ± 25.00 · n=2", "50.00 ± 25.00 · n=2"]
    assert figure["layout"]["yaxis"]["title"]["text"] == "Test accuracy, %"
    assert figure["layout"]["xaxis"]["title"]["text"] == "Round"


def test_its_band_is_interrupted_where_only_one_seed_is_left() -> None:
    points = [point("a", r, 1.0, None if r == 1 else 0.5, n=1 if r == 1 else 2) for r in (0, 1, 2)]
    band = curves_figure(curves_info(points, STYLES, "loss"))["data"][0]
    assert band["x"] == [0, 0, None, 2, 2]
    assert band["y"] == [1.5, 0.5, None, 1.5, 0.5]


def test_its_figure_is_one_that_plotly_takes() -> None:
    points = [point("a", 0, 0.25, 0.25, n=2), point("b", 0, 0.5, None), point("b", 1, 0.5, None)]
    figure = curves_figure(curves_info(points, STYLES, "accuracy"))
    assert [trace.type for trace in go.Figure(figure).data] == ["scatter", "scatter", "scatter"]


def test_it_says_in_words_what_the_chart_shows() -> None:
    info = curves_info([point("a", 0, 0.125), point("a", 5, 0.5), point("b", 5, 0.25)], STYLES, "accuracy")
    assert curves_description(info) == (
        "Test accuracy, %, over rounds 0 to 5, mean over seeds. Last values: fedavg: 50.00; fedprox: 25.00."
    )
    assert curves_description(curves_info([], STYLES, "loss")) == "No test loss has been measured yet."


def test_it_says_how_many_cells_are_drawn_if_not_all() -> None:
    info = curves_info([point("a", 0, 0.5)], {"a": STYLES["a"]}, "accuracy")
    assert curves_notes(info, 1, 30) == "1 of 30 cells drawn"
    assert curves_notes(info, 1, 1) == ""


def test_its_legend_has_every_cell_from_the_start() -> None:
    info = curves_info([point("b", 0, 0.5, n=3)], STYLES, "accuracy")
    assert curves_legend(info, STYLES) == [
        {"label": "fedavg", "hue": 0, "dash": "solid", "n": None},
        {"label": "fedprox", "hue": 1, "dash": "dash", "n": "3"},
    ]
