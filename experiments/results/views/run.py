"""One run: its curves, clients, findings, costs, spec and history."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from experiments.access.services.rights import may_manage
from experiments.charts.confusion import confusion_info
from experiments.charts.smoothing import SMOOTHINGS
from experiments.labels.metrics import in_reading_order, metric_label
from experiments.labels.specs import class_names, spec_words
from experiments.models import Run, RunState
from experiments.results.charts.clients import EVALUATED, PARTICIPATION, client_label
from experiments.results.charts.costs import KINDS
from experiments.results.charts.findings import CONFUSION, findings_info, provenance_facts
from experiments.results.selectors.clients import PAGE, client_columns, client_rows, in_order
from experiments.results.selectors.costs import run_costs
from experiments.results.selectors.files import MODEL, run_files
from experiments.statistics.over_seeds import metric_names
from experiments.web.requests import page_or_part, person, whole_number

SHOWN_FIRST = ("accuracy", "loss", "train_loss", "f1")
CLIENT_NUMBERS = (*EVALUATED, "train_loss", "samples", "steps", PARTICIPATION)


def run(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Run.objects.select_related("worker"), pk=pk)
    context = {**head(request, found), **curves(found), **found_out(found), **told(found)}
    return page_or_part(request, "pages/run.html", "parts/run_live.html", context)


def head(request: HttpRequest, found: Run) -> dict[str, Any]:
    studies, actor = list(found.studies.select_related("owner").order_by("pk")), person(request)
    may = actor.is_lab_admin or any(may_manage(actor, each) for each in studies)
    return {"run": found, "studies": studies, "may_manage": may}


def curves(found: Run) -> dict[str, Any]:
    """Before the first round the metrics that every run has."""
    names = in_reading_order(metric_names(runs=[found.pk]))
    may_come = found.state in (RunState.QUEUED, RunState.RUNNING)
    on_clients = found.spec["evaluation"]["on"] == "clients"
    return {
        "measured": bool(names) or may_come,
        "smoothings": SMOOTHINGS,
        "client_numbers": [client_label(name) for name in CLIENT_NUMBERS if on_clients or name not in EVALUATED],
        "metrics": [metric_label(name) for name in names or SHOWN_FIRST],
        "charts": [name for name in SHOWN_FIRST if name in names] or names[:4] or SHOWN_FIRST,
    }


def found_out(found: Run) -> dict[str, Any]:
    matrix = found.findings.get(CONFUSION)
    return {
        "confusion": confusion_info(matrix, class_names(found.spec, len(matrix))) if matrix else None,
        "findings": findings_info(found.findings),
        "costs": [(metric_label(cost.name), cost) for cost in run_costs(run=found.pk)],
        "cost_kinds": KINDS,
    }


def told(found: Run) -> dict[str, Any]:
    attempts, files = list(found.attempts.all()), run_files(found)
    return {
        "words": spec_words(found.spec),
        "provenance": provenance_facts(found.provenance),
        "attempts": attempts,
        "computed_on": attempts[-1].worker if attempts else "",
        "files": files,
        "has_model": any(file.name == MODEL for file in files),
    }


def run_clients(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Run, pk=pk)
    rows = client_rows(run=pk, rounds_done=found.rounds_done)
    columns = client_columns(rows)
    by, page = sorting(request, columns), max(1, whole_number(request.GET.get("page"), 1))
    shown = in_order(rows, by)[(page - 1) * PAGE : page * PAGE]
    context = {
        "run": found,
        "clients": shown,
        "columns": [(client_label(name), turned(by, name)) for name in ordered(columns)],
        "by": by,
        "by_client": turned(by, "client"),
        "by_rounds": turned(by, "rounds"),
        "count": len(rows),
        "first": (page - 1) * PAGE + 1,
        "page": page,
        "next_page": page + 1 if page * PAGE < len(rows) else None,
    }
    return render(request, "parts/run_clients.html", context)


def ordered(columns: list[str]) -> list[str]:
    first = ("accuracy", "loss", "train_loss", "samples", "steps")
    return sorted(columns, key=lambda name: (first.index(name) if name in first else len(first), name))


def sorting(request: HttpRequest, columns: list[str]) -> str:
    asked = request.GET.get("sort", "")
    return asked if asked.removeprefix("-") in ("client", "rounds", *columns) else "client"


def turned(by: str, name: str) -> str:
    """What a click on that column's head asks for."""
    return f"-{name}" if by == name else name
