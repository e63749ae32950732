"""The charts of a run by name, for the browser and as files for papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from experiments.charts.chart import Chart
from experiments.charts.confusion import confusion_description, confusion_figure, confusion_info, confusions_table
from experiments.charts.curves import (
    BANDS,
    Band,
    curves_description,
    curves_figure,
    curves_info,
    curves_legend,
    curves_notes,
    curves_table,
)
from experiments.charts.live_curves import live_state
from experiments.charts.smoothing import SMOOTHINGS, LineOptions, apply_line_options, line_option_notes
from experiments.charts.styles import LineStyle, line_styles
from experiments.core.database import snapshot
from experiments.labels.specs import class_names
from experiments.models import Run
from experiments.papers.responses import chart_response
from experiments.papers.selectors import paper_source
from experiments.results.charts import clients as client_charts
from experiments.results.charts import costs as cost_charts
from experiments.results.charts.findings import CONFUSION
from experiments.results.live.events import EventScope
from experiments.results.live.parts import live_answer
from experiments.results.selectors.clients import client_cohorts, client_history, clients_of
from experiments.results.selectors.costs import cumulated_costs
from experiments.statistics.curves import curve_statistics
from experiments.statistics.open_runs import open_runs
from experiments.statistics.over_seeds import OpenRun, SeedStatistics
from experiments.studies.selectors.cells import Cell

MOST_CELLS = 24
"""On one page: as many as eyes can tell apart."""


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


def cells_to_draw(cells: Sequence[Cell], keys: Sequence[str] = (), page: int = 1) -> tuple[list[Cell], tuple[int, int]]:
    """Those chosen, or all in the order of the grid; a page of them, its number and how many pages there are."""
    selected = [cell for cell in cells if cell.key in keys] if keys else list(cells)
    pages = max(1, -(-len(selected) // MOST_CELLS))
    number = min(max(1, page), pages)
    return selected[(number - 1) * MOST_CELLS : number * MOST_CELLS], (number, pages)


def curves_chart(
    points: Sequence[SeedStatistics],
    styles: Mapping[str, LineStyle],
    *,
    metric: str,
    band: Band,
    cells: int,
    options: LineOptions | None = None,
    page: tuple[int, int] = (1, 1),
    runs: Sequence[OpenRun] = (),
) -> Chart:
    """What is smoothed is drawn anew from all of its points."""
    info = curves_info(points, styles, metric, band)
    figure, options = curves_figure(info), options or LineOptions()
    notes = [curves_notes(info, len(styles), cells), line_option_notes(figure, options)]
    return Chart(
        f"{info.metric.text} over rounds",
        apply_line_options(figure, options),
        curves_description(info),
        lambda: curves_table(info),
        " · ".join(filter(None, notes)),
        curves_legend(info, styles),
        empty="The first curve appears with the first evaluated round.",
        page=page,
        live=None
        if options.smoothing
        else live_state(points, styles, info.metric, band, runs, marked=options.points, whole=cells == len(styles)),
    )


def run_curves_chart(run: Run, request: HttpRequest) -> Chart:
    metric = requested_metric(request)
    cells, styles = {run.cell: [run.pk]}, line_styles({run.cell: run.spec})
    with snapshot():
        points, runs = curve_statistics(cells=cells, metric=metric), open_runs(cells)
    options = replace(requested_line_options(request), points=True)
    return curves_chart(points, styles, metric=metric, band="none", cells=1, options=options, runs=runs)


def run_clients_chart(run: Run, request: HttpRequest) -> Chart:
    info = run_clients_info(run, request.GET.get("number") or "accuracy")
    return Chart(
        info.metric.text,
        client_charts.clients_figure(info),
        client_charts.clients_description(info),
        lambda: client_charts.clients_table(info),
        client_charts.clients_notes(info),
        client_charts.clients_legend(info),
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


def run_costs_chart(run: Run, request: HttpRequest) -> Chart:
    kind = cost_charts.COST_KINDS.get(request.GET.get("kind", ""), cost_charts.COST_KINDS["traffic"])
    info = cost_charts.costs_info(kind, cumulated_costs(run=run.pk, names=kind.names))
    return Chart(
        kind.title,
        cost_charts.costs_figure(info),
        cost_charts.costs_description(info),
        lambda: cost_charts.costs_table(info),
        legend=cost_charts.costs_legend(info),
    )


def run_confusion_chart(run: Run, request: HttpRequest) -> Chart:
    matrix = run.findings.get(CONFUSION)
    if not matrix:
        raise Http404
    info = confusion_info(matrix, class_names(run.spec, len(matrix)))
    title = "Confusion matrix"
    return Chart(title, confusion_figure(info), confusion_description(info), lambda: confusions_table({title: info}))


RUN_CHARTS: dict[str, Callable[[Run, HttpRequest], Chart]] = {
    "curves": run_curves_chart,
    "clients": run_clients_chart,
    "costs": run_costs_chart,
    "confusion": run_confusion_chart,
}


def run_figure(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    return live_answer(request, scope=EventScope(run=pk), make=lambda: build_run_chart(request, pk, name).answer())


def run_figure_file(request: HttpRequest, pk: int, name: str, kind: str) -> HttpResponse:
    source = paper_source(runs=[pk], link=request.build_absolute_uri(reverse("run", args=[pk])))
    return chart_response(request, build_run_chart(request, pk, name), kind, f"run-{pk}-{name}", source)


def build_run_chart(request: HttpRequest, pk: int, name: str) -> Chart:
    if name not in RUN_CHARTS:
        raise Http404
    return RUN_CHARTS[name](get_object_or_404(Run, pk=pk), request)
