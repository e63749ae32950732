"""How curves are drawn: logarithmic axes, and smoothing that never hides the measured points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

SMOOTHINGS = {"0": "none", "0.6": "light", "0.8": "medium", "0.9": "strong", "0.97": "very strong"}
MOST_MARKED_POINTS = 40
"""Up to so many points of a line each is marked."""


@dataclass(frozen=True)
class LineOptions:
    """`smoothing` is the weight of the past, from 0 (none) to just below 1; `points` marks each of a few; `own_x`
    lets every panel have its own range."""

    log_x: bool = False
    log_y: bool = False
    smoothing: float = 0.0
    points: bool = False
    own_x: bool = False


def moving_average(values: Sequence[float], weight: float) -> list[float]:
    """Exponential moving average, corrected for its start: the first value stays what it is."""
    averages, total, known = [], 0.0, 0.0
    for value in values:
        total = weight * total + (1 - weight) * value
        known = weight * known + (1 - weight)
        averages.append(total / known)
    return averages


def apply_line_options(figure: dict[str, Any], options: LineOptions) -> dict[str, Any]:
    """The same figure, drawn that way. Measured points come last, so that they lie on top of what is smoothed."""
    lines = [trace for trace in figure["data"] if "name" in trace]
    others = [smooth_band(trace, options.smoothing) for trace in figure["data"] if "name" not in trace]
    traces = [part for line in lines for part in line_traces(line, options)]
    return {"data": [*others, *traces], "layout": log_axes(figure["layout"], options)}


def line_traces(line: dict[str, Any], options: LineOptions) -> list[dict[str, Any]]:
    if len(line["x"]) < 2:
        return [line]
    if not options.smoothing:
        markers = {"mode": "lines+markers", "marker": {"size": 5}}
        return [{**line, **markers} if options.points and len(line["x"]) <= MOST_MARKED_POINTS else line]
    plain = {key: value for key, value in line.items() if key not in ("customdata", "name", "hovertemplate")}
    average = {**plain, "y": moving_average(line["y"], options.smoothing), "hoverinfo": "skip"}
    return [average, {**line, "mode": "markers", "marker": {"size": 4, "opacity": 0.6}}]


def smooth_band(trace: dict[str, Any], weight: float) -> dict[str, Any]:
    """A band as its line: both edges are averaged. It is an outline for each stretch, there above and back below."""
    if not weight or not trace.get("meta", {}).get("band"):
        return trace
    values: list[float | None] = []
    for is_gap, stretch in groupby(trace["y"], lambda value: value is None):
        outline = list(stretch)
        values += outline if is_gap else smooth_outline(outline, weight)
    return {**trace, "y": values}


def smooth_outline(outline: Sequence[float], weight: float) -> list[float]:
    half = len(outline) // 2
    upper, lower = moving_average(outline[:half], weight), moving_average(outline[half:][::-1], weight)
    return [*upper, *reversed(lower)]


def log_axes(layout: dict[str, Any], options: LineOptions) -> dict[str, Any]:
    logs = {"xaxis": options.log_x, "yaxis": options.log_y}
    return {key: {**value, "type": "log"} if logs.get(key) else value for key, value in layout.items()}


def line_option_notes(figure: dict[str, Any], options: LineOptions) -> str:
    """What a reader must know: how it was smoothed, and what a logarithm cannot show."""
    lines = [trace for trace in figure["data"] if "name" in trace]
    notes = []
    if options.smoothing:
        notes.append(f"Lines and bands: moving average (weight {options.smoothing:g}), points: as measured")
    lost = sum(count_without_logarithm(line, options) for line in lines)
    if lost:
        notes.append(f"{lost:,} {'point has' if lost == 1 else 'points have'} no logarithm and cannot be drawn")
    return " · ".join(notes)


def count_without_logarithm(line: dict[str, Any], options: LineOptions) -> int:
    points = zip(line["x"], line["y"], strict=True)
    return sum((options.log_x and x <= 0) or (options.log_y and y <= 0) for x, y in points)
