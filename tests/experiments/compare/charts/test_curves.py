from __future__ import annotations

import math
from typing import Any

import plotly.graph_objects as go
import pytest

from experiments.charts.curves import Curve, CurvePoint
from experiments.charts.smoothing import LineOptions
from experiments.charts.styles import CellStyle, LineStyle
from experiments.compare.charts.curves import (
    X_AXES,
    compare_curves_description,
    compare_curves_figure,
    compare_curves_info,
    compare_curves_legend,
    compare_curves_notes,
    page_note,
    panel_page,
)
from experiments.labels.metrics import metric_label
from tests.experiments.charts.test_curves import point

ACCURACY = metric_label("accuracy")
ONE = {"a": CellStyle(LineStyle("fedavg", 0, "solid"), "", "")}
TWO_PANELS = {
    "a": CellStyle(LineStyle("fedavg", 0, "solid"), "", "iid"),
    "b": CellStyle(LineStyle("fedavg", 0, "solid"), "", "shards"),
}
SEEDS = (0.25, 0.5, 0.75)


def spread(band: str) -> tuple[float, float] | None:
    """Of three seeds at 25, 50 and 75 percent: mean 50, std 25."""
    three_seeds = point("a", 3, 0.5, 0.25, 0.25, 0.75, 3, values=SEEDS)
    info = compare_curves_info([three_seeds], ONE, ACCURACY, band=band)  # type: ignore[arg-type]
    return info.curves[0].points[0].band


def test_bands_in_the_shown_unit_by_hand() -> None:
    assert spread("none") is None
    assert spread("std") == (25.0, 75.0)
    assert spread("range") == (25.0, 75.0)
    assert spread("se") == pytest.approx((50 - 25 / math.sqrt(3), 50 + 25 / math.sqrt(3)))
    # t for two degrees of freedom is 4.302653: 50 ± 62.1, of which an accuracy can only have so much.
    assert spread("ci") == (0.0, 100.0)
    assert spread("boot") == (25.0, 75.0)


@pytest.mark.parametrize("band", ["std", "se", "ci", "boot", "range"])
def test_one_seed_has_no_band(band: str) -> None:
    one_seed = point("a", 0, 0.5, None, 0.5, 0.5, 1, values=(0.5,))
    info = compare_curves_info([one_seed], ONE, ACCURACY, band=band)  # type: ignore[arg-type]
    assert info.curves[0].points == (CurvePoint(0, 50.0, 1, None),)


def test_it_is_drawn_over_what_was_spent() -> None:
    points = [point("a", 1, 0.5, x=2e6), point("a", 2, 0.75, x=4e6)]
    info = compare_curves_info(points, ONE, ACCURACY, x=X_AXES["bytes"])
    assert info.curves == [
        Curve("fedavg", 0, "solid", (CurvePoint(1, 50.0, 1, None, 2.0), CurvePoint(2, 75.0, 1, None, 4.0)))
    ]
    figure = compare_curves_figure(info, LineOptions())
    assert figure["data"][0]["x"] == [2.0, 4.0]
    assert figure["layout"]["xaxis"]["title"]["text"] == "Bytes sent by anyone, MB"


def test_epsilon_is_told_of_each_round_and_not_added_up() -> None:
    info = compare_curves_info([point("a", 1, 0.5, x=0.8)], ONE, ACCURACY, x=X_AXES["epsilon"])
    assert [each.place for each in info.curves[0].points] == [0.8]
    assert compare_curves_notes(info) == "Privacy spent: mean over seeds of the value after each round"
    assert "against privacy spent, ε, mean" in compare_curves_description(info)


def test_panels_hold_their_own_curves_and_one_legend_entry_serves_all() -> None:
    points = [point("a", 0, 0.5, n=3), point("b", 0, 0.25, n=2)]
    info = compare_curves_info(points, TWO_PANELS, ACCURACY)
    assert [(panel.column, len(panel.curves)) for panel in info.panels] == [("iid", 1), ("shards", 1)]
    assert compare_curves_legend(info, {"fedavg": "target after 7"}) == [
        {"label": "fedavg", "hue": 0, "dash": "solid", "n": "2–3", "text": "fedavg · n=2–3 · target after 7"}
    ]
    figure = compare_curves_figure(info, LineOptions())
    grey, lines = figure["data"][:2], figure["data"][2:]
    assert [trace.get("xaxis", "x") for trace in lines] == ["x", "x2"]
    assert [(trace["meta"], trace["y"]) for trace in grey] == [
        ({"muted": True}, [25.0, None]),
        ({"muted": True}, [50.0, None]),
    ]
    go.Figure(figure)


def test_panels_share_one_x_range_unless_each_is_to_have_its_own() -> None:
    points = [point("a", 0, 0.5), point("a", 15, 0.5), point("b", 0, 0.5), point("b", 400, 0.5)]
    shared, own = (compare_curves_info(points, TWO_PANELS, ACCURACY, own_x=own) for own in (False, True))
    assert compare_curves_figure(shared, LineOptions())["layout"]["xaxis2"]["matches"] == "x"
    assert "matches" not in compare_curves_figure(own, LineOptions())["layout"]["xaxis2"]
    assert compare_curves_notes(shared) == (
        "Panels share one x range, in which some lines are short: “own x” under Look, More"
    )
    assert compare_curves_notes(own) == "Each panel has its own x range: compare lengths by the ticks"
    alike = compare_curves_info([point("a", 100, 0.5), point("b", 400, 0.5)], TWO_PANELS, ACCURACY)
    assert compare_curves_notes(alike) == ""


def test_panels_without_a_curve_are_not_drawn_and_a_grid_with_gaps_is_a_list() -> None:
    styles = {
        name: CellStyle(LineStyle("x", 0, "solid"), name[0], name[1], place=("ab".index(name[0]), "pq".index(name[1])))
        for name in ("bq", "aq", "ap")
    }
    info = compare_curves_info([point(name, 0, 0.5) for name in styles], styles, ACCURACY)
    assert [panel.column for panel in info.panels] == ["a · p", "a · q", "b · q"]
    assert (info.grid.panels, info.grid.down) == (3, 1)


def test_panels_beyond_a_page_are_on_the_next_one_which_is_said() -> None:
    styles = {
        f"cell {number}": CellStyle(LineStyle("x", 0, "solid"), "", str(number), place=(0, number))
        for number in range(14)
    }
    first, second = panel_page(styles, 1), panel_page(styles, 9)
    assert (len(first.cells), second.cells) == (12, ("cell 12", "cell 13"))
    assert page_note(first, "strategies") == "2 of 14 strategies are on the next page"
    assert page_note(second, "strategies") == "12 of 14 strategies are on the page before"
    assert page_note(panel_page({}, 1), "panels") == ""


def test_of_many_bands_only_the_one_that_is_pointed_at_is_drawn() -> None:
    def bands(count: int) -> list[dict[str, Any]]:
        styles = {str(cell): CellStyle(LineStyle(str(cell), cell, "solid"), "", "") for cell in range(count)}
        points = [point(cell, 0, 0.5, 0.1, 0.4, 0.6, 3) for cell in styles]
        traces = compare_curves_figure(compare_curves_info(points, styles, ACCURACY), LineOptions())["data"]
        return [trace["meta"] for trace in traces if trace["meta"].get("band")]

    assert [meta.get("pointed", False) for meta in bands(3)] == [False] * 3
    assert [meta.get("pointed", False) for meta in bands(4)] == [True] * 4


def test_on_a_narrow_screen_panels_stand_below_each_other() -> None:
    styles = {
        "a": CellStyle(LineStyle("x", 0, "solid"), "5", "iid"),
        "b": CellStyle(LineStyle("x", 0, "solid"), "9", "iid"),
    }
    info = compare_curves_info([point("a", 0, 0.5), point("b", 0, 0.5)], styles, ACCURACY, narrow=True)
    assert (info.grid.columns, info.grid.across, info.grid.down) == (("5 · iid", "9 · iid"), 1, 2)


def test_what_is_not_finite_is_counted_and_a_cell_without_values_has_no_curve() -> None:
    points = [point("a", 0, None, n=0, lost=2), point("b", 0, 0.5)]
    info = compare_curves_info(points, TWO_PANELS, ACCURACY)
    assert [curve.label for curve in info.curves] == ["fedavg"]
    assert info.lost == 2
    assert compare_curves_notes(info) == "2 values are not finite (diverged), left out"


def test_the_target_is_a_line_and_axes_can_be_logarithmic() -> None:
    info = compare_curves_info([point("a", 1, 0.5)], ONE, ACCURACY, target=90.0)
    layout = compare_curves_figure(info, LineOptions(log_x=True, log_y=True))["layout"]
    assert [line["y0"] for line in layout["shapes"]] == [90.0]
    assert (layout["xaxis"]["type"], layout["yaxis"]["type"]) == ("log", "log")


def test_smoothing_keeps_the_measured_points_visible() -> None:
    points = [point("a", number, value) for number, value in enumerate((0.0, 1.0, 0.0))]
    info = compare_curves_info(points, ONE, ACCURACY, band="none")
    smooth, measured = compare_curves_figure(info, LineOptions(smoothing=0.5))["data"]
    # Debiased by hand: 0; (0 + 50) / 0.75; (25 + 0) / 0.875.
    assert smooth["y"] == pytest.approx([0.0, 66.6666667, 28.5714286])
    assert measured["y"] == [0.0, 100.0, 0.0]


def test_it_says_in_words_what_it_shows_and_what_it_leaves_out() -> None:
    points = [point("a", 5, 0.5, n=3), point("b", 4, 0.25)]
    info = compare_curves_info(points, TWO_PANELS, ACCURACY)
    assert compare_curves_description(info) == (
        "Test accuracy, %, against rounds, mean over seeds. "
        "Last values: fedavg · iid: 50.00 (n=3); fedavg · shards: 25.00 (n=1)."
    )
    assert compare_curves_notes(info) == ""
    assert (
        compare_curves_description(compare_curves_info([], {}, ACCURACY)) == "No test accuracy has been measured yet."
    )
