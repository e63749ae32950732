from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404

from experiments.charts.metrics import in_reading_order, metric_label
from experiments.charts.styles import styles
from experiments.models import Run
from experiments.selectors.runs import client_columns, client_rows, last_round, log_tail
from experiments.selectors.statistics import metric_names, run_curve
from experiments.services.rights import may_manage
from experiments.views.figures import curves_answer, metric_in
from experiments.views.parts import page_or_part
from experiments.views.people import person

SHOWN_FIRST = ("accuracy", "loss", "train_loss", "f1")


def run(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Run.objects.select_related("worker"), pk=pk)
    studies = list(found.studies.select_related("owner"))
    names = in_reading_order(metric_names(runs=[pk])) or list(SHOWN_FIRST)
    latest = last_round(run=pk)
    clients = client_rows(latest)
    context = {
        "run": found,
        "studies": studies,
        "metrics": [metric_label(name) for name in names],
        "charts": [name for name in SHOWN_FIRST if name in names] or names[:4],
        "latest": latest,
        "clients": clients,
        "client_columns": client_columns(clients),
        "attempts": found.attempts.all(),
        "log": log_tail(run=pk),
        "may_manage": any(may_manage(person(request), each) for each in studies) or person(request).is_lab_admin,
    }
    return page_or_part(request, "pages/run.html", "parts/run_live.html", context)


def run_figure(request: HttpRequest, pk: int) -> JsonResponse:
    found = get_object_or_404(Run, pk=pk)
    metric = metric_in(request)
    looks = styles({found.cell: found.spec})
    return curves_answer(run_curve(run=pk, metric=metric), looks, metric=metric, band="none", cells=1)
