"""Charts as JSON: what the browser draws, in words too, and what to know about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, JsonResponse
from django.shortcuts import get_object_or_404

from experiments.charts.chart import finite_only
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
from experiments.charts.smoothing import SMOOTHINGS, LineOptions, apply_line_options, line_option_notes
from experiments.charts.styles import LineStyle, line_styles
from experiments.labels.specs import class_names
from experiments.models import Run
from experiments.results.charts import clients as client_charts
from experiments.results.charts import costs as cost_charts
from experiments.results.charts.findings import CONFUSION
from experiments.results.selectors.clients import client_cohorts, client_history, clients_of
from experiments.results.selectors.costs import cumulated_costs
from experiments.statistics.curves import curve_statistics
from experiments.statistics.over_seeds import SeedStatistics
from experiments.studies.selectors.cells import Cell

MOST_CELLS = 24


def requested_band(request: HttpRequest) -> Band:
    name = request.GET.get("band", "std")
    return next((band for band in BANDS if band == name), "std")


def requested_metric(request: HttpRequest) -> str:
    return request.GET.get("metric") or "accuracy"


def requested_line_options(request: HttpRequest) -> LineOptions:
    """Axes and smoothing from the address; what is not offered counts as not asked for."""
    weight = request.GET.get("smooth", "")
    return LineOptions(
        log_x=request.GET.get("x") == "log",
        log_y=request.GET.get("y") == "log",
        smoothing=float(weight) if weight in SMOOTHINGS else 0.0,
    )


def cells_to_draw(cells: Sequence[Cell], keys: Sequence[str] = ()) -> list[Cell]:
    """As many cells as eyes can tell apart: those chosen, or the first of the grid."""
    selected = [cell for cell in cells if cell.key in keys] if keys else list(cells)
    return selected[:MOST_CELLS]


def curves_answer(
    points: Sequence[SeedStatistics],
    styles: Mapping[str, LineStyle],
    *,
    metric: str,
    band: Band,
    cells: int,
    options: LineOptions | None = None,
) -> JsonResponse:
    info = curves_info(points, styles, metric, band)
    figure, options = curves_figure(info), options or LineOptions()
    notes = [curves_notes(info, len(styles), cells), line_option_notes(figure, options)]
    answer: dict[str, Any] = {
        **finite_only(apply_line_options(figure, options)),
        "title": info.metric.text,
        "description": curves_description(info),
        "legend": curves_legend(info, styles),
        "notes": " · ".join(filter(None, notes)),
    }
    return JsonResponse(answer)


def run_figure(request: HttpRequest, pk: int) -> JsonResponse:
    run = get_object_or_404(Run, pk=pk)
    metric = requested_metric(request)
    points, styles = curve_statistics(cells={run.cell: [pk]}, metric=metric), line_styles({run.cell: run.spec})
    options = replace(requested_line_options(request), points=True)
    return curves_answer(points, styles, metric=metric, band="none", cells=1, options=options)


def run_clients_figure(request: HttpRequest, pk: int) -> JsonResponse:
    info = run_clients_info(get_object_or_404(Run, pk=pk), request.GET.get("number") or "accuracy")
    return figure_answer(
        client_charts.clients_figure(info),
        title=info.metric.text,
        description=client_charts.clients_description(info),
        legend=client_charts.clients_legend(info),
        notes=client_charts.clients_notes(info),
    )


def run_clients_info(run: Run, name: str) -> client_charts.ClientsInfo:
    everyone = clients_of(run=run.pk)
    clients = client_charts.evenly_spaced(everyone, client_charts.MOST_CLIENTS)
    rounds = client_charts.rounds_to_draw(name, run.rounds_done, run.spec.get("evaluation", {}).get("every", 1))
    if name == client_charts.PARTICIPATION:
        history = client_cohorts(run=run.pk, rounds=rounds, clients=clients)
    else:
        history = client_history(run=run.pk, name=name, rounds=rounds, clients=clients)
    return client_charts.clients_info(
        name, history, rounds=rounds, client_total=len(everyone), last_round=run.rounds_done
    )


def run_costs_figure(request: HttpRequest, pk: int) -> JsonResponse:
    get_object_or_404(Run, pk=pk)
    kind = cost_charts.COST_KINDS.get(request.GET.get("kind", ""), cost_charts.COST_KINDS["traffic"])
    info = cost_charts.costs_info(kind, cumulated_costs(run=pk, names=kind.names))
    return figure_answer(
        cost_charts.costs_figure(info),
        title=kind.title,
        description=cost_charts.costs_description(info),
        legend=cost_charts.costs_legend(info),
    )


def run_confusion_figure(request: HttpRequest, pk: int) -> JsonResponse:
    run = get_object_or_404(Run, pk=pk)
    matrix = run.findings.get(CONFUSION)
    if not matrix:
        raise Http404
    info = confusion_info(matrix, class_names(run.spec, len(matrix)))
    return figure_answer(confusion_figure(info), title="Confusion matrix", description=confusion_description(info))


def figure_answer(
    figure: dict[str, Any], *, title: str, description: str, legend: Any = (), notes: str = ""
) -> JsonResponse:
    texts = {"title": title, "description": description, "legend": list(legend), "notes": notes}
    return JsonResponse({**finite_only(figure), **texts})
