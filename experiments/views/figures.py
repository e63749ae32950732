"""Charts as JSON: what the browser draws, in words too, and what to know about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, JsonResponse

from experiments.charts.curves import (
    BANDS,
    Band,
    curves_description,
    curves_figure,
    curves_info,
    curves_legend,
    curves_notes,
)
from experiments.charts.drawing import SMOOTHINGS, Drawing, drawing_notes, redrawn
from experiments.charts.styles import Style
from experiments.selectors.cells import Cell
from experiments.selectors.statistics import SeedStatistics

DRAWN = 24


def band_in(request: HttpRequest) -> Band:
    asked = request.GET.get("band", "std")
    return next((band for band in BANDS if band == asked), "std")


def metric_in(request: HttpRequest) -> str:
    return request.GET.get("metric") or "accuracy"


def drawing_in(request: HttpRequest) -> Drawing:
    """Axes and smoothing from the address; what is not offered counts as not asked for."""
    weight = request.GET.get("smooth", "")
    return Drawing(
        log_x=request.GET.get("x") == "log",
        log_y=request.GET.get("y") == "log",
        smoothing=float(weight) if weight in SMOOTHINGS else 0.0,
    )


def drawn(cells: Sequence[Cell], chosen: Sequence[str] = ()) -> list[Cell]:
    """As many cells as eyes can tell apart: those chosen, or the first of the grid."""
    wanted = [cell for cell in cells if cell.key in chosen] if chosen else list(cells)
    return wanted[:DRAWN]


def curves_answer(
    points: Sequence[SeedStatistics],
    styles: Mapping[str, Style],
    *,
    metric: str,
    band: Band,
    cells: int,
    drawing: Drawing | None = None,
) -> JsonResponse:
    info = curves_info(points, styles, metric, band)
    figure, how = curves_figure(info), drawing or Drawing()
    notes = [curves_notes(info, len(styles), cells), drawing_notes(figure, how)]
    answer: dict[str, Any] = {
        **redrawn(figure, how),
        "title": info.metric.text,
        "description": curves_description(info),
        "legend": curves_legend(info, styles),
        "notes": " · ".join(filter(None, notes)),
    }
    return JsonResponse(answer)
