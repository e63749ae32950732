from __future__ import annotations

import plotly.graph_objects as go

from experiments.results.charts.costs import (
    COST_KINDS,
    costs_description,
    costs_figure,
    costs_info,
    costs_legend,
    thin_out,
)

TOLD = {"bytes_up": [(0, 1_000_000.0), (1, 3_000_000.0)], "bytes_peer": [(0, 0.0), (1, 0.0)]}


def test_traffic_is_in_megabytes_and_what_cost_nothing_is_left_out() -> None:
    info = costs_info(COST_KINDS["traffic"], TOLD)
    assert info.lines == (("Upload", ((0, 1.0), (1, 3.0))),)
    assert costs_description(info) == "Traffic, cumulated, up to round 1: Upload 3 MB."
    assert [entry["text"] for entry in costs_legend(info)] == ["Upload"]


def test_phases_are_stacked() -> None:
    info = costs_info(COST_KINDS["time"], {"seconds_train": [(1, 2.0)], "seconds_evaluate": [(1, 1.0)]})
    figure = costs_figure(info)
    assert [trace["stackgroup"] for trace in figure["data"]] == ["all", "all"]
    assert figure["layout"]["yaxis"]["title"]["text"] == "Time by phase, cumulated, s"
    go.Figure(figure)


def test_nothing_measured_is_an_empty_chart() -> None:
    info = costs_info(COST_KINDS["steps"], {})
    assert costs_figure(info)["data"] == []
    assert costs_description(info) == "Local steps, cumulated: nothing was measured yet."


def test_long_runs_are_thinned_and_keep_their_end() -> None:
    points = thin_out([(number, float(number)) for number in range(1201)])
    assert (len(points), points[0], points[-1]) == (401, (0, 0.0), (1200, 1200.0))
