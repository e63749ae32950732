"""How curves are drawn: logarithmic axes, and smoothing that never hides the measured points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

SMOOTHINGS = {"0": "none", "0.6": "light", "0.8": "medium", "0.9": "strong", "0.97": "very strong"}
FEW_POINTS = 40
"""Up to so many points of a line each is marked."""


@dataclass(frozen=True)
class Drawing:
    """`smoothing` is the weight of the past, from 0 (none) to just below 1; `points` marks each of a few."""

    log_x: bool = False
    log_y: bool = False
    smoothing: float = 0.0
    points: bool = False


def smoothed(values: Sequence[float], weight: float) -> list[float]:
    """Exponential moving average, corrected for its start: the first value stays what it is."""
    return list(moving(values, weight))


def moving(values: Sequence[float], weight: float) -> Iterator[float]:
    total = known = 0.0
    for value in values:
        total = weight * total + (1 - weight) * value
        known = weight * known + (1 - weight)
        yield total / known


def redrawn(figure: dict[str, Any], drawing: Drawing) -> dict[str, Any]:
    """The same figure, drawn that way. Measured points come last, so that they lie on top of what is smoothed."""
    lines = [trace for trace in figure["data"] if "name" in trace]
    others = [trace for trace in figure["data"] if "name" not in trace]
    drawn = [part for line in lines for part in parts(line, drawing)]
    return {"data": [*others, *drawn], "layout": scaled_axes(figure["layout"], drawing)}


def parts(line: dict[str, Any], drawing: Drawing) -> list[dict[str, Any]]:
    if len(line["x"]) < 2:
        return [line]
    if not drawing.smoothing:
        marked = {"mode": "lines+markers", "marker": {"size": 5}}
        return [{**line, **marked} if drawing.points and len(line["x"]) <= FEW_POINTS else line]
    plain = {key: value for key, value in line.items() if key not in ("customdata", "name", "hovertemplate")}
    average = {**plain, "y": smoothed(line["y"], drawing.smoothing), "hoverinfo": "skip"}
    return [average, {**line, "mode": "markers", "marker": {"size": 4, "opacity": 0.6}}]


def scaled_axes(layout: dict[str, Any], drawing: Drawing) -> dict[str, Any]:
    logs = {"xaxis": drawing.log_x, "yaxis": drawing.log_y}
    return {key: {**value, "type": "log"} if logs.get(key) else value for key, value in layout.items()}


def drawing_notes(figure: dict[str, Any], drawing: Drawing) -> str:
    """What a reader must know: how it was smoothed, and what a logarithm cannot show."""
    lines = [trace for trace in figure["data"] if "name" in trace]
    notes = []
    if drawing.smoothing:
        notes.append(f"Lines: moving average (weight {drawing.smoothing:g}), points: as measured")
    lost = sum(hidden(line, drawing) for line in lines)
    if lost:
        notes.append(f"{lost:,} {'point has' if lost == 1 else 'points have'} no logarithm and cannot be drawn")
    return " · ".join(notes)


def hidden(line: dict[str, Any], drawing: Drawing) -> int:
    points = zip(line["x"], line["y"], strict=True)
    return sum((drawing.log_x and x <= 0) or (drawing.log_y and y <= 0) for x, y in points)
