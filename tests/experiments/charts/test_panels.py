from __future__ import annotations

import plotly.graph_objects as go
import pytest

from experiments.charts.panels import PanelGrid, level_lines, on_panel, panel_grid, panel_layout, wrap_title

X, Y = {"title": {"text": "Round"}}, {"title": {"text": "Loss"}}


def test_one_panel_is_an_ordinary_chart() -> None:
    layout = panel_layout(PanelGrid(), X, Y)
    assert layout["xaxis"] == {"title": {"text": "Round"}, "domain": [0.0, 1.0]}
    assert "height" not in layout
    assert layout["annotations"] == []


def test_rows_and_columns_share_their_axes_and_only_the_outer_ones_are_labelled() -> None:
    layout = panel_layout(PanelGrid(("a", "b"), ("x", "y")), X, Y)
    assert sorted(name for name in layout if "axis" in name) == [
        *("xaxis", "xaxis2", "xaxis3", "xaxis4"),
        *("yaxis", "yaxis2", "yaxis3", "yaxis4"),
    ]
    assert layout["xaxis4"]["matches"] == "x"
    assert layout["xaxis4"]["title"] == {"text": "Round"}
    assert layout["xaxis2"]["showticklabels"] is False
    assert [words["text"] for words in layout["annotations"]] == ["x", "y", "a", "b"]
    go.Layout(layout)


def test_many_panels_of_one_axis_stand_in_rows_of_three() -> None:
    grid = panel_grid([("", name) for name in "abcde"])
    assert (grid.across, grid.down, grid.panels) == (3, 2, 5)
    assert [grid.at(place) for place in (1, 3, 4, 5)] == [(0, 0), (0, 2), (1, 0), (1, 1)]
    assert [panel_grid([("", name) for name in "abcdefghij"[:count]]).across for count in (3, 4, 7, 10)] == [3, 2, 3, 3]
    layout = panel_layout(grid, X, Y)
    assert layout["height"] == 560 + 64
    assert panel_grid([("", name) for name in "abcdefghi"]).height == 3 * 210 + 64
    # The third has nothing below it, so it is labelled; the first two are not.
    assert [place for place in ("", "2", "3", "4", "5") if "showticklabels" not in layout[f"xaxis{place}"]] == [
        *("3", "4", "5")
    ]


def test_panels_with_their_own_x_share_only_y_and_all_have_ticks() -> None:
    layout = panel_layout(panel_grid([("", name) for name in "abcd"], own_x=True), X, Y)
    assert [("matches" in layout[name], "showticklabels" in layout[name]) for name in ("xaxis2", "yaxis2")] == [
        (False, False),
        (True, True),
    ]
    assert (layout["xaxis"]["title"], layout["xaxis4"]["title"]) == ({"text": ""}, {"text": "Round"})
    # Between two rows of 624 pixels there are 36 for a title and 20 for ticks.
    assert layout["yaxis"]["domain"][0] - layout["yaxis4"]["domain"][1] == pytest.approx(56 / 624, abs=1e-5)


def test_long_titles_are_broken_between_their_words_by_the_width_of_a_panel() -> None:
    words = ("Digits · Dirichlet (α = 0.1) · share-disjoint · hybrid 50 %", "IID")
    assert PanelGrid(columns=words).titles == list(words)
    third = PanelGrid(columns=(*words, "unify"))
    assert third.titles == ["Digits · Dirichlet (α = 0.1)<br>share-disjoint · hybrid 50 %", "IID", "unify"]
    assert (third.lines, PanelGrid(columns=words, most_across=1).lines) == (2, 2)
    # A second line of 16 pixels above the panels, whose gap grows as much.
    assert panel_layout(third, X, Y)["margin"]["t"] == 12 + 2 * 16
    assert wrap_title("one · two<br>90.0% right", 5) == "one<br>two<br>90.0% right"


def test_every_panel_has_a_place() -> None:
    grid = panel_grid([(row, column) for row in "abcdefgh" for column in "xyz"])
    assert (grid.rows, grid.columns) == (tuple("abcdefgh"), ("x", "y", "z"))
    assert (grid.place("h", "z"), grid.place("i", "x")) == (24, None)


def test_traces_and_lines_go_to_their_panel() -> None:
    assert on_panel({"y": [1]}, 1) == {"y": [1]}
    assert on_panel({"y": [1]}, 3) == {"y": [1], "xaxis": "x3", "yaxis": "y3"}
    assert [(line["xref"], line["yref"], line["y0"]) for line in level_lines(PanelGrid(columns=("a", "b")), 90.0)] == [
        ("x domain", "y", 90.0),
        ("x2 domain", "y2", 90.0),
    ]
