"""The numbers behind every chart as CSV, and the table for papers."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, QueryDict

from experiments.charts.chart import csv_text
from experiments.compare.chart_builders import selection_table
from experiments.compare.charts.pivot_table import pivot_latex, pivot_markdown
from experiments.compare.samples import samples_of
from experiments.compare.selection import requested_selection
from experiments.compare.views.page import requested_chart

FORMATS = {"tex": ("application/x-tex", pivot_latex), "md": ("text/markdown", pivot_markdown)}


def chart_csv(request: HttpRequest, name: str) -> HttpResponse:
    return csv_file(name, request.GET)


def csv_file(name: str, query: QueryDict) -> HttpResponse:
    return file_response(csv_text(requested_chart(name, query).table), "text/csv", f"compare-{name}.csv")


def table_file(request: HttpRequest, kind: str) -> HttpResponse:
    return paper_file(kind, request.GET)


def paper_file(kind: str, query: QueryDict) -> HttpResponse:
    if kind not in FORMATS:
        raise Http404
    content_type, write = FORMATS[kind]
    selection, choices = requested_selection(query)
    table = selection_table(selection, choices, samples_of(selection, choices))
    return file_response(write(table), content_type, f"compare-table.{kind}")


def file_response(text: str, content_type: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=f"{content_type}; charset=utf-8", headers=headers)
