"""What the browser needs to go on with a chart by itself: each round that is told becomes a point.

In stored units, over seeds as in `SeedStatistics`. Lines whose runs have all ended grow no more and have no state here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.charts.curves import Band
from experiments.charts.styles import LineStyle
from experiments.labels.metrics import MetricLabel
from experiments.statistics.over_seeds import OpenRun, SeedStatistics


def live_state(
    points: Sequence[SeedStatistics],
    styles: Mapping[str, LineStyle],
    metric: MetricLabel,
    band: Band,
    runs: Sequence[OpenRun],
    *,
    marked: bool,
    whole: bool,
) -> dict[str, Any] | None:
    """None where nothing grows, or only the server can tell the band.

    `marked`: points of a short line are marked, as the chart has them. `whole`: no cell is left out, so that a run that
    is not in `runs` is a new one.
    """
    lines = {cell: line_state(style) for cell, style in styles.items() if any(each.cell == cell for each in runs)}
    if not lines or band not in BANDS_OF_SUMS:
        return None
    for point in sorted(points, key=lambda each: each.round):
        if point.cell in lines and point.n:
            for name, value in zip(STATISTICS, (point.round, point.n, *point[2:6]), strict=True):
                lines[point.cell][name].append(value)
    return {
        "metric": metric.name,
        "scale": metric.scale,
        "digits": metric.digits,
        "lowest": finite_or_none(metric.lowest),
        "highest": finite_or_none(metric.highest),
        "band": band,
        "marked": marked,
        "whole": whole,
        "lines": list(lines.values()),
        "runs": {each.run: [styles[each.cell].label, each.last_round] for each in runs if each.cell in lines},
    }


BANDS_OF_SUMS: tuple[Band, ...] = ("std", "range", "none")
STATISTICS = ("rounds", "n", "means", "stds", "lows", "highs")


def line_state(style: LineStyle) -> dict[str, Any]:
    look = {"label": style.label, "hue": style.hue, "dash": style.dash}
    return {**look, **{name: [] for name in STATISTICS}}


def finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
