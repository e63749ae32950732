"""Charts as JSON: what the browser draws, in words too, and what to know about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404

from experiments.charts.confusion import confusion_description, confusion_figure, confusion_info
from experiments.charts.curves import (
    BANDS,
    Band,
    curves_description,
    curves_figure,
    curves_info,
    curves_legend,
    curves_notes,
)
from experiments.charts.smoothing import SMOOTHINGS, Drawing, drawing_notes, redrawn
from experiments.charts.styles import Style, styles
from experiments.labels.specs import class_names
from experiments.models import Run
from experiments.results.charts import clients as client_charts
from experiments.results.charts import costs as cost_charts
from experiments.results.charts.findings import CONFUSION
from experiments.results.selectors.clients import client_cohorts, client_history, clients_of
from experiments.results.selectors.costs import cumulated
from experiments.statistics.over_seeds import SeedStatistics, run_curve
from experiments.studies.selectors.cells import Cell

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


def run_figure(request: HttpRequest, pk: int) -> JsonResponse:
    found = get_object_or_404(Run, pk=pk)
    metric = metric_in(request)
    points, looks = run_curve(run=pk, metric=metric), styles({found.cell: found.spec})
    drawing = replace(drawing_in(request), points=True)
    return curves_answer(points, looks, metric=metric, band="none", cells=1, drawing=drawing)


def clients_figure(request: HttpRequest, pk: int) -> JsonResponse:
    info = drawn_clients(get_object_or_404(Run, pk=pk), request.GET.get("number") or "accuracy")
    return answer(
        client_charts.clients_figure(info),
        title=info.metric.text,
        description=client_charts.clients_description(info),
        legend=client_charts.clients_legend(info),
        notes=client_charts.clients_notes(info),
    )


def drawn_clients(run: Run, name: str) -> client_charts.ClientsInfo:
    everyone = clients_of(run=run.pk)
    clients = client_charts.evenly(everyone, client_charts.MOST_CLIENTS)
    rounds = client_charts.drawn_rounds(name, run.rounds_done, run.spec["evaluation"]["every"])
    if name == client_charts.PARTICIPATION:
        history = client_cohorts(run=run.pk, rounds=rounds, clients=clients)
    else:
        history = client_history(run=run.pk, name=name, rounds=rounds, clients=clients)
    return client_charts.clients_info(name, history, rounds=rounds, everyone=len(everyone), last_round=run.rounds_done)


def costs_figure(request: HttpRequest, pk: int) -> JsonResponse:
    get_object_or_404(Run, pk=pk)
    kind = cost_charts.KINDS.get(request.GET.get("kind", ""), cost_charts.KINDS["traffic"])
    info = cost_charts.costs_info(kind, cumulated(run=pk, names=kind.names))
    return answer(
        cost_charts.costs_figure(info),
        title=kind.title,
        description=cost_charts.costs_description(info),
        legend=cost_charts.costs_legend(info),
    )


def confusion_figure_of(request: HttpRequest, pk: int) -> JsonResponse:
    found = get_object_or_404(Run, pk=pk)
    matrix = found.findings.get(CONFUSION)
    if not matrix:
        raise Http404
    info = confusion_info(matrix, class_names(found.spec, len(matrix)))
    return answer(confusion_figure(info), title="Confusion matrix", description=confusion_description(info))


def answer(figure: dict[str, Any], *, title: str, description: str, legend: Any = (), notes: str = "") -> JsonResponse:
    told = {"title": title, "description": description, "legend": list(legend), "notes": notes}
    return JsonResponse({**figure, **told})
