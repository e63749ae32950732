"""One run: its curves, clients, findings, costs, spec and history."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from experiments.access.services.rights import may_manage
from experiments.charts.confusion import confusion_info
from experiments.charts.smoothing import SMOOTHINGS
from experiments.labels.metrics import metric_label, sort_metric_names
from experiments.labels.names import cell_name
from experiments.labels.specs import class_names, spec_words
from experiments.models import Run, RunState, Study
from experiments.queue.services.runs import UNSUCCESSFUL
from experiments.results.charts.clients import EVALUATED, PARTICIPATION, client_label
from experiments.results.charts.costs import COST_KINDS
from experiments.results.charts.findings import CONFUSION, findings_info, provenance_facts
from experiments.results.live.events import EventScope
from experiments.results.live.parts import live_page
from experiments.results.selectors.clients import PAGE, client_columns, client_rows, sort_clients
from experiments.results.selectors.costs import Cost, run_costs
from experiments.results.selectors.files import MODEL, run_files
from experiments.results.selectors.headline import run_headline
from experiments.results.selectors.identity import runs_that_change
from experiments.statistics.curves import metric_names
from experiments.web.requests import current_user, whole_number
from workers.spec import is_app, is_logged

FIRST_METRICS = ("accuracy", "loss", "train_loss", "f1")
CLIENT_NUMBERS = (*EVALUATED, "train_loss", "samples", "steps", PARTICIPATION)


def run_page(request: HttpRequest, pk: int) -> HttpResponse:
    run, actor = get_object_or_404(Run, pk=pk), current_user(request)
    may = actor.is_lab_admin or any(may_manage(actor, each) for each in run.studies.select_related("owner"))
    return live_page(
        request,
        "pages/run.html",
        "parts/run_live.html",
        scope=EventScope(run=pk),
        viewer=lambda: (actor.role, may),
        make_context=lambda: run_context(pk, may),
    )


def run_context(pk: int, may: bool) -> dict[str, Any]:
    run = get_object_or_404(Run.objects.select_related("worker"), pk=pk)
    studies = list(run.studies.select_related("owner").order_by("pk"))
    names, costs = sort_metric_names(metric_names(runs=[run.pk])), run_costs(run=run.pk)
    return {
        **head_context(run, studies, may),
        **headline_context(run, names, costs),
        **curves_context(run, names),
        **findings_context(run, costs),
        **history_context(run),
    }


def head_context(run: Run, studies: list[Study], may: bool) -> dict[str, Any]:
    relaunch = may and run.state in UNSUCCESSFUL and bool(runs_that_change([run.pk]))
    return {
        "run": run,
        "cell_name": cell_name(run.spec),
        "own_data": is_app(run.spec),
        "logged": is_logged(run.spec),
        "studies": studies,
        "may_manage": may,
        "relaunch": relaunch,
        "restartable": may and run.state in UNSUCCESSFUL and run.attempts.exclude(checkpoint="").exists(),
    }


def headline_context(run: Run, names: list[str], costs: list[Cost]) -> dict[str, Any]:
    headline = run_headline(run=run.pk, names=names, costs=costs)
    return {
        "headline": headline,
        "headline_label": metric_label(headline.metric),
        "loss_label": metric_label("loss"),
    }


def curves_context(run: Run, names: list[str]) -> dict[str, Any]:
    """Before the first round the metrics that every run has."""
    may_come = run.state in (RunState.QUEUED, RunState.RUNNING)
    return {
        "measured": bool(names) or may_come,
        "smoothings": SMOOTHINGS,
        "client_numbers": [client_label(name) for name in client_numbers(run)],
        "metrics": [metric_label(name) for name in names or FIRST_METRICS],
        "charts": [name for name in FIRST_METRICS if name in names] or names[:4] or FIRST_METRICS,
    }


def client_numbers(run: Run) -> list[str]:
    """Those of every run, or those that the clients of an app have reported."""
    if is_app(run.spec):
        reported = client_columns(client_rows(run=run.pk, rounds_done=run.rounds_done))
        return [*order_columns(reported), PARTICIPATION]
    on_clients = run.spec["evaluation"]["on"] == "clients"
    return [name for name in CLIENT_NUMBERS if on_clients or name not in EVALUATED]


def findings_context(run: Run, costs: list[Cost]) -> dict[str, Any]:
    matrix = run.findings.get(CONFUSION)
    return {
        "confusion": confusion_info(matrix, class_names(run.spec, len(matrix))) if matrix else None,
        "findings": findings_info(run.findings),
        "costs": [(metric_label(cost.name), cost) for cost in costs],
        "cost_kinds": COST_KINDS,
    }


def history_context(run: Run) -> dict[str, Any]:
    attempts, files = list(run.attempts.all()), run_files(run)
    return {
        "words": spec_words(run.spec, run.launch_sources),
        "provenance": provenance_facts(run.provenance),
        "attempts": attempts,
        "computed_on": attempts[-1].worker if attempts else "",
        "files": files,
        "has_model": any(file.name == MODEL for file in files),
    }


def run_clients(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run, pk=pk)
    rows = client_rows(run=pk, rounds_done=run.rounds_done)
    columns = client_columns(rows)
    by, page = requested_sort(request, columns), max(1, whole_number(request.GET.get("page"), 1))
    page_rows = sort_clients(rows, by)[(page - 1) * PAGE : page * PAGE]
    context = {
        "run": run,
        "clients": page_rows,
        "columns": [(client_label(name), toggle_sort(by, name)) for name in order_columns(columns)],
        "by": by,
        "by_client": toggle_sort(by, "client"),
        "by_rounds": toggle_sort(by, "rounds"),
        "count": len(rows),
        "first": (page - 1) * PAGE + 1,
        "page": page,
        "next_page": page + 1 if page * PAGE < len(rows) else None,
    }
    return render(request, "parts/run_clients.html", context)


def order_columns(columns: list[str]) -> list[str]:
    first = ("accuracy", "loss", "train_loss", "samples", "steps")
    return sorted(columns, key=lambda name: (first.index(name) if name in first else len(first), name))


def requested_sort(request: HttpRequest, columns: list[str]) -> str:
    sort = request.GET.get("sort", "")
    return sort if sort.removeprefix("-") in ("client", "rounds", *columns) else "client"


def toggle_sort(by: str, name: str) -> str:
    """What a click on that column's head asks for."""
    return f"-{name}" if by == name else name
