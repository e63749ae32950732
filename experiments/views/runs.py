"""One run: its curves, clients, findings, costs, spec and history."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from experiments.charts.clients import EVALUATED, PARTICIPATION, client_label
from experiments.charts.confusion import confusion_info
from experiments.charts.costs import KINDS
from experiments.charts.drawing import SMOOTHINGS
from experiments.charts.findings import CONFUSION, findings_info
from experiments.charts.metrics import in_reading_order, metric_label
from experiments.charts.provenance import provenance_facts
from experiments.charts.spec_words import class_names, spec_words
from experiments.models import Run, RunState
from experiments.selectors.costs import run_costs
from experiments.selectors.run_files import MODEL, run_files
from experiments.selectors.statistics import metric_names
from experiments.services.rights import may_manage
from experiments.views.parts import page_or_part
from experiments.views.people import person

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
