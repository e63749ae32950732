"""The clients of a run as a table: asked for after the page, and again while the run goes on."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from experiments.charts.clients import client_label
from experiments.models import Run
from experiments.selectors.clients import PAGE, client_columns, client_rows, in_order
from experiments.views.parts import whole_number


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
