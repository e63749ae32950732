"""Swap and average moments, marked on the curves of the strategies that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.curves import Curve
from experiments.charts.panels import on_panel
from experiments.compare.charts.curves import CompareCurvesInfo
from workers.strategies._swap_moments import averages, swaps

SYMBOLS = {"swap": "triangle-up-open", "average": "circle"}
MOST = 40
"""More marks of a kind than this on one line hide it."""


@dataclass(frozen=True)
class Moments:
    swaps: tuple[int, ...]
    averages: tuple[int, ...]


def moments(strategy: Mapping[str, Any], rounds: int) -> Moments | None:
    """Of a strategy that swaps; None for any other."""
    if not isinstance(strategy.get("h1"), int) or not isinstance(strategy.get("h2"), int):
        return None
    h1, h2, numbers = strategy["h1"], strategy["h2"], range(1, rounds + 1)
    return Moments(
        tuple(number for number in numbers if swaps(number, h1, h2)),
        tuple(number for number in numbers if averages(number, h1 * h2)),
    )


def marks(info: CompareCurvesInfo, by_label: Mapping[str, Moments]) -> list[dict[str, Any]]:
    """Marker traces upon the lines; kinds with too many moments are left out (`marks_note` says so)."""
    found = []
    for panel in info.panels:
        place = info.grid.place(panel.row, panel.column)
        for curve in panel.curves if place else ():
            own = by_label.get(curve.label)
            found += [on_panel(each, place or 1) for each in curve_marks(curve, own)] if own else []
    return found


def curve_marks(curve: Curve, own: Moments) -> list[dict[str, Any]]:
    kinds = {"swap": own.swaps, "average": own.averages}
    return [mark(curve, kind, rounds) for kind, rounds in kinds.items() if 0 < len(rounds) <= MOST]


def mark(curve: Curve, kind: str, rounds: Sequence[int]) -> dict[str, Any]:
    points = [point for point in curve.points if point.round in rounds]
    return {
        "type": "scatter",
        "mode": "markers",
        "legendgroup": curve.label,
        "x": [point.place for point in points],
        "y": [point.mean for point in points],
        "marker": {"symbol": SYMBOLS[kind], "size": 8},
        "hovertemplate": f"{curve.label}: {kind}<extra></extra>",
        "meta": {"hue": curve.hue},
    }


def marks_note(by_label: Mapping[str, Moments]) -> str:
    most = max((max(len(each.swaps), len(each.averages)) for each in by_label.values()), default=0)
    few = " (kinds with more than 40 moments are not marked)" if most > MOST else ""
    return f"Triangles: clients swap models; dots: models are averaged{few}"
