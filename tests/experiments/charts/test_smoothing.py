from __future__ import annotations

from typing import Any

import pytest

from experiments.charts.smoothing import LineOptions, apply_line_options, line_option_notes, moving_average


def figure(*values: float) -> dict[str, Any]:
    line = {"name": "fedavg", "mode": "lines", "x": list(range(len(values))), "y": list(values), "meta": {"hue": 0}}
    return {"data": [{"x": [], "y": []}, line], "layout": {"xaxis": {"title": "Round"}, "yaxis": {"title": "Loss"}}}


def test_smoothing_starts_at_the_first_value_and_weighs_the_past() -> None:
    # Weights 1; 1/3, 2/3; 1/7, 2/7, 4/7: each older value counts half as much.
    assert moving_average([1.0, 4.0, 4.0], 0.5) == pytest.approx([1.0, 3.0, 25 / 7])
    assert moving_average([3.0, 3.0, 3.0], 0.9) == pytest.approx([3.0, 3.0, 3.0])


def test_smoothing_keeps_every_measured_point_on_top() -> None:
    band, average, measured = apply_line_options(figure(1.0, 4.0), LineOptions(smoothing=0.5))["data"]
    assert "name" not in band
    assert (average["mode"], average["y"], "name" in average) == ("lines", pytest.approx([1.0, 3.0]), False)
    assert (measured["mode"], measured["x"], measured["y"]) == ("markers", [0, 1], [1.0, 4.0])


def test_a_band_is_smoothed_as_its_line_stretch_by_stretch() -> None:
    # Two rounds, a gap, two more: above from left to right, then below from right to left.
    band = {
        "meta": {"band": True},
        "x": [0, 1, 1, 0, None, 3, 4, 4, 3],
        "y": [2.0, 5.0, 3.0, 0.0, None, 4.0, 4.0, 1.0, 1.0],
    }
    smoothed = apply_line_options({**figure(1.0), "data": [band]}, LineOptions(smoothing=0.5))["data"][0]
    assert smoothed["y"] == [2.0, pytest.approx(4.0), pytest.approx(2.0), 0.0, None, 4.0, 4.0, 1.0, 1.0]
    assert apply_line_options({**figure(1.0), "data": [band]}, LineOptions())["data"] == [band]


def test_without_smoothing_the_line_is_as_measured() -> None:
    assert apply_line_options(figure(1.0, 4.0), LineOptions())["data"] == figure(1.0, 4.0)["data"]


def test_a_few_points_are_marked_if_asked() -> None:
    assert apply_line_options(figure(1.0, 4.0), LineOptions(points=True))["data"][1]["mode"] == "lines+markers"
    assert apply_line_options(figure(*range(50)), LineOptions(points=True))["data"][1]["mode"] == "lines"


def test_axes_are_logarithmic_one_by_one() -> None:
    layout = apply_line_options(figure(1.0, 4.0), LineOptions(log_y=True))["layout"]
    assert (layout["xaxis"].get("type"), layout["yaxis"]["type"]) == (None, "log")


def test_it_says_what_was_smoothed_and_what_has_no_logarithm() -> None:
    assert line_option_notes(figure(1.0, 4.0), LineOptions()) == ""
    assert line_option_notes(figure(1.0, 4.0), LineOptions(smoothing=0.5)) == (
        "Lines and bands: moving average (weight 0.5), points: as measured"
    )
    assert (
        line_option_notes(figure(1.0, -4.0), LineOptions(log_x=True)) == "1 point has no logarithm and cannot be drawn"
    )
    assert line_option_notes(figure(1.0, 0.0), LineOptions(log_x=True, log_y=True)) == (
        "2 points have no logarithm and cannot be drawn"
    )
