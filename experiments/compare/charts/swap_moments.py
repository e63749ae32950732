"""Swap and average moments, marked on the curves of the strategies that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.curves import Curve
from experiments.charts.panels import on_panel
from experiments.compare.charts.curves import CompareCurvesInfo
from workers.strategies._exchange_rounds import is_average_round, is_swap_round

SYMBOLS = {"swap": "triangle-up-open", "average": "circle"}
MOST_MARKS = 40
"""More marks of a kind than this on one line hide it."""


@dataclass(frozen=True)
class SwapMoments:
    swaps: tuple[int, ...]
    averages: tuple[int, ...]


def swap_moments(strategy: Mapping[str, Any], rounds: int) -> SwapMoments | None:
    """Of a strategy that swaps; None for any other."""
    if not isinstance(strategy.get("h1"), int) or not isinstance(strategy.get("h2"), int):
        return None
    h1, h2, numbers = strategy["h1"], strategy["h2"], range(1, rounds + 1)
    return SwapMoments(
        tuple(number for number in numbers if is_swap_round(number, h1, h2)),
        tuple(number for number in numbers if is_average_round(number, h1 * h2)),
    )


def swap_moment_marks(info: CompareCurvesInfo, moments_by_label: Mapping[str, SwapMoments]) -> list[dict[str, Any]]:
    """Marker traces upon the lines; kinds with too many moments are left out (`swap_moments_note` says so)."""
    marks = []
    for panel in info.panels:
        place = info.grid.place(panel.row, panel.column)
        for curve in panel.curves if place else ():
            moments = moments_by_label.get(curve.label)
            marks += [on_panel(each, place or 1) for each in curve_moment_marks(curve, moments)] if moments else []
    return marks


def curve_moment_marks(curve: Curve, moments: SwapMoments) -> list[dict[str, Any]]:
    kinds = {"swap": moments.swaps, "average": moments.averages}
    return [moment_mark(curve, kind, rounds) for kind, rounds in kinds.items() if 0 < len(rounds) <= MOST_MARKS]


def moment_mark(curve: Curve, kind: str, rounds: Sequence[int]) -> dict[str, Any]:
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


def swap_moments_note(moments_by_label: Mapping[str, SwapMoments]) -> str:
    most = max((max(len(each.swaps), len(each.averages)) for each in moments_by_label.values()), default=0)
    few = " (kinds with more than 40 moments are not marked)" if most > MOST_MARKS else ""
    return f"Triangles: clients swap models; dots: models are averaged{few}"
