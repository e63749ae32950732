"""Workers, and the header's one line about them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from experiments.selectors.workers import pulse, worker_rows
from experiments.views.parts import page_or_part


def workers_page(request: HttpRequest) -> HttpResponse:
    rows = worker_rows()
    context = {"rows": rows, "alive": sum(row.alive for row in rows), "pulse": pulse()}
    return page_or_part(request, "pages/workers.html", "parts/worker_rows.html", context)


def pulse_part(request: HttpRequest) -> HttpResponse:
    return render(request, "parts/pulse.html", {"pulse": pulse()})
