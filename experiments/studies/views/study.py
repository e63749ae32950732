"""One study: its curves, cells and runs, and what its owner changes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.access.services.rights import may_manage, require_manage
from experiments.bookmarks.selectors import has_pins
from experiments.charts.chart import Chart
from experiments.charts.smoothing import SMOOTHINGS
from experiments.charts.styles import LineStyle, flat_line_styles
from experiments.core.database import snapshot
from experiments.core.errors import ConflictError, NotAllowedError
from experiments.labels.metrics import MetricLabel, metric_label, sort_metric_names
from experiments.models import Run, RunState, Study
from experiments.papers.responses import chart_response
from experiments.papers.selectors import paper_source
from experiments.results.live.events import EventScope
from experiments.results.live.parts import live_answer, live_page
from experiments.results.selectors import runs as run_reads
from experiments.results.selectors.identity import runs_that_change
from experiments.results.views.charts import (
    cells_to_draw,
    curves_chart,
    requested_band,
    requested_line_options,
    requested_metric,
)
from experiments.statistics.curves import curve_statistics, runs_by_cell
from experiments.statistics.finals import final_statistics
from experiments.statistics.open_runs import open_runs
from experiments.statistics.over_seeds import SeedStatistics, best_complete
from experiments.studies.selectors.cells import Cell, cells_of, measured_metrics
from experiments.studies.selectors.deletions import deletion_job, deletion_of
from experiments.studies.selectors.progress import run_counts
from experiments.studies.selectors.studies import load_study_rows, texts_version
from experiments.studies.selectors.study_list import known_tags
from experiments.studies.services.changes import study_update
from experiments.web.requests import current_user, page_or_part, whole_number
from experiments.web.tables import Column, Head, TableChoices, matches, requested_table, sort_rows
from workers.errors import SpecError, TributaryError
from workers.spec import is_app

CELLS_SHOWN = 200
VARIATIONS = 5
RUN_HEADS = {"run": "Run", "seed": "Seed", "state": "State", "rounds": "Rounds", "took": "Took"}
RETRY = "Retry failed and cancelled"
RETRY_AND_RELAUNCH = "Retry failed and cancelled, relaunch what changed"


CELLS, RUNS = "cell", "run"
"""What the choices of the two tables begin with in the address."""
CellFinals = Mapping[str, SeedStatistics]


@dataclass(frozen=True)
class CellRow:
    cell: Cell
    style: LineStyle
    finals: list[tuple[MetricLabel, SeedStatistics | None, bool]]


def study_page(request: HttpRequest, pk: int) -> HttpResponse:
    every = Study.every.select_related("owner", "parent")
    study = get_object_or_404(every, pk=pk)
    if study.deleting:
        return being_deleted_page(request, study)
    person = current_user(request)
    may = may_manage(person, study)
    return live_page(
        request,
        "pages/study.html",
        "parts/study_live.html",
        scope=EventScope(study=pk),
        viewer=lambda: (person.role, may, has_pins(person, study)),
        make_context=lambda: study_context(request, get_object_or_404(every, pk=pk), may),
    )


def study_context(request: HttpRequest, study: Study, may: bool) -> dict[str, Any]:
    pk = study.pk
    cells = cells_of(studies=[pk])
    metrics = sort_metric_names(measured_metrics(cells)) or ["accuracy"]
    styles = flat_line_styles({cell.key: cell.flat for cell in cells})
    accuracies = final_statistics(studies=[pk], metric="accuracy")
    row, failures = load_study_rows([study], finals=accuracies)[0], run_reads.failure_groups(study=pk)
    relaunched = runs_that_change(group.example for group in failures)
    return {
        "row": row,
        "study": study,
        "best_label": styles[row.best.cell].label if row.best and len(cells) > 1 else "",
        "spec": {"name": study.name, "blocks": study.blocks},
        "own_data": all(is_app(block) for block in study.blocks),
        "metrics": [metric_label(name) for name in metrics],
        **cells_context(request, pk, cells, styles, metrics, {"accuracy": accuracies[pk]}),
        "failures": failures,
        "relaunched": relaunched,
        "retry_label": RETRY_AND_RELAUNCH if relaunched else RETRY,
        **runs_context(request, pk, row.progress.counts, styles, metrics),
        "may_manage": may,
        "smoothings": SMOOTHINGS,
        "variations": list(study.variations.order_by("pk")[:VARIATIONS]),
        "known_tags": known_tags(),
        "version": texts_version(study),
    }


def being_deleted_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Until it is gone; a page that was open before is loaded anew."""
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "pages/being_deleted.html", {"study": study, "job": deletion_job(study)})


def study_runs(request: HttpRequest, pk: int) -> HttpResponse:
    """The table of runs alone, to page through thousands."""
    study = get_object_or_404(Study, pk=pk)
    counts, cells = run_counts(pk), cells_of(studies=[pk])
    styles = flat_line_styles({cell.key: cell.flat for cell in cells})
    metrics = sort_metric_names(measured_metrics(cells))
    context = runs_context(request, pk, counts, styles, metrics)
    return render(request, "parts/study_runs.html", {"study": study, **context})


def offered_columns(metrics: Sequence[str]) -> tuple[list[str], list[str]]:
    """Metrics that may be a column, without those of single classes and the like; and the one that is by default."""
    offered = [name for name in metrics if "." not in name]
    return offered, offered[:1]


def column_list(offered: Sequence[str], choices: TableChoices) -> list[Column]:
    return [Column(name, metric_label(name).axis, name in choices.columns) for name in offered]


def runs_context(
    request: HttpRequest,
    pk: int,
    counts: Mapping[str, int],
    styles: Mapping[str, LineStyle],
    metrics: Sequence[str],
) -> dict[str, Any]:
    state_name, page = request.GET.get("state", ""), max(1, whole_number(request.GET.get("page"), 1))
    state = state_name if state_name in RunState.values else ""
    offered, default = offered_columns(metrics)
    choices = requested_table(request.GET, RUNS, columns=offered, default=default, sortable=run_reads.RUN_ORDERS)
    labels = {key: style.label for key, style in styles.items()}
    shown_metrics = [metric_label(name) for name in choices.columns]
    searched = [key for key, label in labels.items() if matches(label, choices.search)] if choices.search else None
    runs = run_reads.study_runs(
        study=pk, state=state, page=page, metrics=choices.columns, sort=choices.sort, cells=searched
    )
    return {
        "runs": [(run, list(zip(shown_metrics, run.values, strict=True))) for run in runs],
        "counts": counts,
        "labels": labels,
        "state": state,
        "page": page,
        "next_page": page + 1 if len(runs) == run_reads.PAGE else None,
        "states": RunState.values,
        "run_choices": choices,
        "run_columns": column_list(offered, choices),
        "run_heads": {name: choices.head(name, text) for name, text in RUN_HEADS.items()},
        "run_metrics": [metric_head(choices, name) for name in choices.columns],
    }


def metric_head(choices: TableChoices, name: str) -> Head:
    label = metric_label(name)
    return choices.head(name, label.axis, highest_first=label.higher_is_better)


def cells_context(
    request: HttpRequest,
    pk: int,
    cells: Sequence[Cell],
    styles: Mapping[str, LineStyle],
    metrics: Sequence[str],
    known: Mapping[str, CellFinals],
) -> dict[str, Any]:
    """`known` has metrics whose final values were read already."""
    offered, default = offered_columns(metrics)
    choices = requested_table(request.GET, CELLS, columns=offered, default=default, sortable=("cell", "seeds"))
    found = [cell for cell in cells if matches(styles[cell.key].label, choices.search)]
    rows = sort_cells(cell_rows(pk, found, styles, choices.columns, known), choices)
    return {
        "cells": rows[:CELLS_SHOWN],
        "cells_found": len(rows),
        "cell_count": len(cells),
        "cell_choices": choices,
        "cell_columns": column_list(offered, choices),
        "cell_heads": {"cell": choices.head("cell", "Cell"), "seeds": choices.head("seeds", "Seeds")},
        "cell_metrics": [metric_head(choices, name) for name in choices.columns],
    }


def sort_cells(rows: Sequence[CellRow], choices: TableChoices) -> list[CellRow]:
    if not choices.sort:
        return list(rows)
    keys: dict[str, Callable[[CellRow], Any]] = {
        "cell": lambda row: row.style.label.casefold(),
        "seeds": lambda row: row.cell.done,
    }

    def mean(row: CellRow) -> float | None:
        statistics = row.finals[choices.columns.index(choices.sort_name)][1]
        return statistics.mean if statistics else None

    return sort_rows(rows, keys.get(choices.sort_name, mean), falling=choices.falling)


def cell_rows(
    pk: int,
    cells: Sequence[Cell],
    styles: Mapping[str, LineStyle],
    metrics: Sequence[str],
    known: Mapping[str, CellFinals],
) -> list[CellRow]:
    labels = [metric_label(name) for name in metrics]
    finals = {name: known.get(name) or final_statistics(studies=[pk], metric=name)[pk] for name in metrics}
    best = {label.name: best_cell(finals[label.name], label.higher_is_better) for label in labels}
    return [
        CellRow(
            cell,
            styles[cell.key],
            [(label, finals[label.name].get(cell.key), best[label.name] == cell.key) for label in labels],
        )
        for cell in cells
    ]


def best_cell(finals: CellFinals, higher: bool) -> str | None:
    return best_complete(finals, higher=higher) if len(finals) > 1 else None


def study_figure(request: HttpRequest, pk: int) -> HttpResponse:
    return live_answer(request, scope=EventScope(study=pk), make=lambda: study_chart(request, pk).answer())


def study_figure_file(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    runs = Run.objects.filter(studies=pk).values_list("pk", flat=True)
    source = paper_source(runs=list(runs), link=request.build_absolute_uri(reverse("study", args=[pk])))
    return chart_response(request, study_chart(request, pk), kind, f"study-{pk}-curves", source)


def study_chart(request: HttpRequest, pk: int) -> Chart:
    get_object_or_404(Study, pk=pk)
    cells, metric = cells_of(studies=[pk]), requested_metric(request)
    styles = flat_line_styles({cell.key: cell.flat for cell in cells})
    drawn, page = cells_to_draw(cells, request.GET.getlist("cell"), whole_number(request.GET.get("page"), 1))
    drawn_styles = {cell.key: styles[cell.key] for cell in drawn}
    with snapshot():
        runs = runs_by_cell(studies=[pk], cells=list(drawn_styles))
        points, growing = curve_statistics(cells=runs, metric=metric), open_runs(runs)
    return curves_chart(
        points,
        drawn_styles,
        metric=metric,
        band=requested_band(request),
        cells=len(cells),
        options=requested_line_options(request),
        page=page,
        runs=growing,
    )


@require_POST
def edit_study(request: HttpRequest, pk: int) -> HttpResponse:
    """Where it cannot be saved, what was typed comes back on a page of its own."""
    study = get_object_or_404(Study, pk=pk)
    data = request.POST
    try:
        study_update(
            study=study,
            actor=current_user(request),
            name=data.get("name"),
            description=data.get("description"),
            tags=data["tags"].split(",") if "tags" in data else None,
            version=data.get("version"),
        )
    except (SpecError, ConflictError) as error:
        return unsaved_edit_page(request, Study.objects.get(pk=pk), error)
    except TributaryError as error:
        messages.error(request, f"Nothing was changed. {error_text(error)}")
    else:
        messages.success(request, "Changed.")
    return redirect("study", pk=pk)


def unsaved_edit_page(request: HttpRequest, study: Study, error: TributaryError) -> HttpResponse:
    """With what is saved now beside it; saving from here replaces that knowingly."""
    saved = {"name": study.name, "tags": ", ".join(study.tags), "description": study.description}
    typed = {field: request.POST.get(field, value) for field, value in saved.items()}
    conflict = isinstance(error, ConflictError)
    context = {
        "study": study,
        "typed": typed,
        "version": texts_version(study),
        "problem": error_text(error),
        "saved": {field: value for field, value in saved.items() if conflict and value != typed[field]},
        "known_tags": known_tags(),
    }
    return render(request, "pages/study_edit.html", context, status=409 if conflict else 422)


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
