"""The numbers behind every chart as CSV, and the table for papers."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, QueryDict

from experiments.charts.chart import csv_text
from experiments.compare.chart_builders import table_of
from experiments.compare.charts.pivot_table import pivot_latex, pivot_markdown
from experiments.compare.choices import choices_of
from experiments.compare.samples import samples_of
from experiments.compare.selection import picked
from experiments.compare.views.page import drawn

FORMATS = {"tex": ("application/x-tex", pivot_latex), "md": ("text/markdown", pivot_markdown)}


def chart_csv(request: HttpRequest, name: str) -> HttpResponse:
    return csv_file(name, request.GET)


def csv_file(name: str, query: QueryDict) -> HttpResponse:
    return file(csv_text(drawn(name, query).table), "text/csv", f"compare-{name}.csv")


def table_file(request: HttpRequest, kind: str) -> HttpResponse:
    return paper_file(kind, request.GET)


def paper_file(kind: str, query: QueryDict) -> HttpResponse:
    if kind not in FORMATS:
        raise Http404
    content_type, written = FORMATS[kind]
    choices = choices_of(query)
    found = picked(choices)
    return file(written(table_of(found, choices, samples_of(found, choices))), content_type, f"compare-table.{kind}")


def file(text: str, content_type: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=f"{content_type}; charset=utf-8", headers=headers)
