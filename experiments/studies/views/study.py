"""One study: its curves, cells and runs, and what its owner changes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from experiments.access.services.rights import may_manage, require_manage
from experiments.charts.smoothing import SMOOTHINGS
from experiments.charts.styles import LineStyle, flat_line_styles
from experiments.core.errors import NotAllowedError
from experiments.labels.metrics import metric_label, sort_metric_names
from experiments.models import RunState, Study
from experiments.results.selectors import runs as run_reads
from experiments.results.selectors.identity import runs_that_change
from experiments.results.views.charts import (
    cells_to_draw,
    curves_answer,
    requested_band,
    requested_line_options,
    requested_metric,
)
from experiments.statistics.curves import curve_statistics, final_statistics, runs_by_cell
from experiments.statistics.over_seeds import SeedStatistics, best_complete
from experiments.studies.selectors.cells import Cell, cells_in, cells_of, measured_metrics
from experiments.studies.selectors.deletions import deletion_of
from experiments.studies.selectors.progress import run_counts
from experiments.studies.selectors.studies import known_tags, load_study_rows
from experiments.studies.services.changes import study_update
from experiments.web.requests import current_user, page_or_part, whole_number
from workers.errors import SpecError, TributaryError
from workers.spec import is_app

CELLS_SHOWN = 200
VARIATIONS = 5
FINALS = ("accuracy", "loss", "f1")
RETRY = "Retry failed and cancelled"
RETRY_AND_RELAUNCH = "Retry failed and cancelled, relaunch what changed"


@dataclass(frozen=True)
class CellRow:
    cell: Cell
    style: LineStyle
    finals: list[tuple[str, SeedStatistics | None, bool]]


def study_page(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(Study.objects.select_related("owner", "parent"), pk=pk)
    cells = cells_of(studies=[pk])
    metrics = sort_metric_names(measured_metrics(cells)) or ["accuracy"]
    finals = [name for name in FINALS if name in metrics]
    styles = flat_line_styles({cell.key: cell.flat for cell in cells})
    row, failures = load_study_rows([study])[0], run_reads.failure_groups(study=pk)
    relaunched = runs_that_change(group.example for group in failures)
    context = {
        "row": row,
        "study": study,
        "spec": {"name": study.name, "blocks": study.blocks},
        "own_data": all(is_app(block) for block in study.blocks),
        "metrics": [metric_label(name) for name in metrics],
        "cells": cell_rows(pk, cells[:CELLS_SHOWN], styles, finals),
        "cell_metrics": [metric_label(name) for name in finals],
        "cell_count": len(cells),
        "failures": failures,
        "relaunched": relaunched,
        "retry_label": RETRY_AND_RELAUNCH if relaunched else RETRY,
        **runs_context(request, pk, row.progress.counts, styles),
        "may_manage": may_manage(current_user(request), study),
        "smoothings": SMOOTHINGS,
        "variations": list(study.variations.order_by("pk")[:VARIATIONS]),
        "known_tags": known_tags(),
    }
    return page_or_part(request, "pages/study.html", "parts/study_live.html", context)


def study_runs(request: HttpRequest, pk: int) -> HttpResponse:
    """The table of runs alone, to page through thousands."""
    study = get_object_or_404(Study, pk=pk)
    counts, styles = run_counts(pk), flat_line_styles(cells_in(pk))
    return render(request, "parts/study_runs.html", {"study": study, **runs_context(request, pk, counts, styles)})


def runs_context(
    request: HttpRequest, pk: int, counts: Mapping[str, int], styles: Mapping[str, LineStyle]
) -> dict[str, Any]:
    state_name, page = request.GET.get("state", ""), max(1, whole_number(request.GET.get("page"), 1))
    state = state_name if state_name in RunState.values else ""
    members = run_reads.study_runs(study=pk, state=state, page=page)
    return {
        "members": members,
        "counts": counts,
        "labels": {key: style.label for key, style in styles.items()},
        "state": state,
        "page": page,
        "next_page": page + 1 if len(members) == run_reads.PAGE else None,
        "states": RunState.values,
    }


def cell_rows(pk: int, cells: Sequence[Cell], styles: Mapping[str, LineStyle], metrics: Sequence[str]) -> list[CellRow]:
    finals = {metric: final_statistics(studies=[pk], metric=metric)[pk] for metric in metrics}
    best = {
        metric: best_cell(statistics, metric_label(metric).higher_is_better) for metric, statistics in finals.items()
    }
    return [
        CellRow(
            cell,
            styles[cell.key],
            [(metric, finals[metric].get(cell.key), best[metric] == cell.key) for metric in metrics],
        )
        for cell in cells
    ]


def best_cell(finals: dict[str, SeedStatistics], higher: bool) -> str | None:
    return best_complete(finals, higher=higher) if len(finals) > 1 else None


def study_figure(request: HttpRequest, pk: int) -> JsonResponse:
    get_object_or_404(Study, pk=pk)
    cells, metric = cells_of(studies=[pk]), requested_metric(request)
    styles = flat_line_styles({cell.key: cell.flat for cell in cells})
    drawn_styles = {cell.key: styles[cell.key] for cell in cells_to_draw(cells, request.GET.getlist("cell"))}
    points = curve_statistics(cells=runs_by_cell(studies=[pk], cells=list(drawn_styles)), metric=metric)
    band, options = requested_band(request), requested_line_options(request)
    return curves_answer(points, drawn_styles, metric=metric, band=band, cells=len(cells), options=options)


@require_POST
def edit_study(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(Study, pk=pk)
    data = request.POST
    try:
        study_update(
            study=study,
            actor=current_user(request),
            name=data.get("name"),
            description=data.get("description"),
            tags=data["tags"].split(",") if "tags" in data else None,
        )
    except TributaryError as error:
        messages.error(request, f"Nothing was changed. {error_text(error)}")
    else:
        messages.success(request, "Changed.")
    return redirect("study", pk=pk)


def error_text(error: TributaryError) -> str:
    if isinstance(error, SpecError):
        return " ".join(f"{problem.path.capitalize()}: {problem.message}" for problem in error.errors)
    return error.detail


def deletion_page(request: HttpRequest, pk: int) -> HttpResponse:
    """The confirmation: a page of its own, or its part for a dialog."""
    study = get_object_or_404(Study.objects.select_related("owner"), pk=pk)
    try:
        require_manage(current_user(request), study)
    except NotAllowedError as error:
        return render(request, "403.html", {"detail": error.detail}, status=403)
    context = {"study": study, "deletion": deletion_of(study)}
    return page_or_part(request, "pages/deletion.html", "parts/deletion.html", context)
