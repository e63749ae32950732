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
from experiments.charts.styles import Style, styles_in
from experiments.core.errors import NotAllowedError
from experiments.labels.metrics import in_reading_order, metric_label
from experiments.models import RunState, Study
from experiments.results.selectors import runs as run_reads
from experiments.results.views.charts import band_in, curves_answer, drawing_in, drawn, metric_in
from experiments.statistics.over_seeds import SeedStatistics, curve_statistics, final_statistics
from experiments.studies.selectors.cells import Cell, cells_in, cells_of, measured
from experiments.studies.selectors.deletions import deletion_of
from experiments.studies.selectors.progress import counts_of
from experiments.studies.selectors.studies import known_tags, rows_for
from experiments.studies.services.changes import study_update
from experiments.web.requests import page_or_part, person, whole_number
from workers.errors import SpecError, TributaryError

CELLS_SHOWN = 200
VARIATIONS = 5
FINALS = ("accuracy", "loss", "f1")


@dataclass(frozen=True)
class CellRow:
    cell: Cell
    style: Style
    finals: list[tuple[str, SeedStatistics | None, bool]]


def study(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Study.objects.select_related("owner", "parent"), pk=pk)
    cells = cells_of(studies=[pk])
    metrics = in_reading_order(measured(cells)) or ["accuracy"]
    finals = [name for name in FINALS if name in metrics]
    looks = styles_in({cell.key: cell.flat for cell in cells})
    row = rows_for([found])[0]
    context = {
        "row": row,
        "study": found,
        "spec": {"name": found.name, "blocks": found.blocks},
        "metrics": [metric_label(name) for name in metrics],
        "cells": cell_rows(pk, cells[:CELLS_SHOWN], looks, finals),
        "cell_metrics": [metric_label(name) for name in finals],
        "cell_count": len(cells),
        "failures": run_reads.failures(study=pk),
        **runs_context(request, pk, row.progress.counts, looks),
        "may_manage": may_manage(person(request), found),
        "smoothings": SMOOTHINGS,
        "variations": list(found.variations.order_by("pk")[:VARIATIONS]),
        "known_tags": known_tags(),
    }
    return page_or_part(request, "pages/study.html", "parts/study_live.html", context)


def study_runs(request: HttpRequest, pk: int) -> HttpResponse:
    """The table of runs alone, to page through thousands."""
    found = get_object_or_404(Study, pk=pk)
    counts, looks = counts_of(pk), styles_in(cells_in(pk))
    return render(request, "parts/study_runs.html", {"study": found, **runs_context(request, pk, counts, looks)})


def runs_context(
    request: HttpRequest, pk: int, counts: Mapping[str, int], looks: Mapping[str, Style]
) -> dict[str, Any]:
    asked, page = request.GET.get("state", ""), max(1, whole_number(request.GET.get("page"), 1))
    state = asked if asked in RunState.values else ""
    members = run_reads.study_runs(study=pk, state=state, page=page)
    return {
        "members": members,
        "counts": counts,
        "labels": {key: style.label for key, style in looks.items()},
        "state": state,
        "page": page,
        "next_page": page + 1 if len(members) == run_reads.PAGE else None,
        "states": RunState.values,
    }


def cell_rows(pk: int, cells: Sequence[Cell], looks: Mapping[str, Style], metrics: Sequence[str]) -> list[CellRow]:
    finals = {metric: final_statistics(studies=[pk], metric=metric) for metric in metrics}
    best = {metric: best_cell(found, metric_label(metric).higher_is_better) for metric, found in finals.items()}
    return [
        CellRow(
            cell,
            looks[cell.key],
            [(metric, finals[metric].get(cell.key), best[metric] == cell.key) for metric in metrics],
        )
        for cell in cells
    ]


def best_cell(finals: dict[str, SeedStatistics], higher: bool) -> str | None:
    means = {cell: found.mean for cell, found in finals.items() if found.mean is not None}
    if len(means) < 2:
        return None
    return (max if higher else min)(means, key=lambda cell: means[cell])


def study_figure(request: HttpRequest, pk: int) -> JsonResponse:
    get_object_or_404(Study, pk=pk)
    cells, metric = cells_of(studies=[pk]), metric_in(request)
    looks = styles_in({cell.key: cell.flat for cell in cells})
    shown = {cell.key: looks[cell.key] for cell in drawn(cells, request.GET.getlist("cell"))}
    points = curve_statistics(studies=[pk], metric=metric, cells=list(shown))
    band, drawing = band_in(request), drawing_in(request)
    return curves_answer(points, shown, metric=metric, band=band, cells=len(cells), drawing=drawing)


@require_POST
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Study, pk=pk)
    given = request.POST
    try:
        study_update(
            study=found,
            actor=person(request),
            name=given.get("name"),
            description=given.get("description"),
            tags=given["tags"].split(",") if "tags" in given else None,
        )
    except TributaryError as error:
        messages.error(request, f"Nothing was changed. {in_words(error)}")
    else:
        messages.success(request, "Changed.")
    return redirect("study", pk=pk)


def in_words(error: TributaryError) -> str:
    if isinstance(error, SpecError):
        return " ".join(f"{problem.path.capitalize()}: {problem.message}" for problem in error.errors)
    return error.detail


def deletion(request: HttpRequest, pk: int) -> HttpResponse:
    """The confirmation: a page of its own, or its part for a dialog."""
    found = get_object_or_404(Study.objects.select_related("owner"), pk=pk)
    try:
        require_manage(person(request), found)
    except NotAllowedError as error:
        return render(request, "403.html", {"detail": error.detail}, status=403)
    context = {"study": found, "deletion": deletion_of(found)}
    return page_or_part(request, "pages/deletion.html", "parts/deletion.html", context)
