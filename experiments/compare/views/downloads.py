"""The charts and tables of Compare as files: figures and LaTeX for papers, and the numbers behind them."""

from __future__ import annotations

from datetime import date

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse

from experiments.api.deprecation import deprecated
from experiments.compare.chart_builders import CHART_BUILDERS
from experiments.compare.paper_tables import TABLE_BUILDERS
from experiments.compare.selection import requested_selection
from experiments.papers.responses import chart_response, table_response
from experiments.papers.selectors import paper_source

NOT_THE_VIEW = ("paper_width", "paper_size", "paper_font", "paper_ink", "hide", "narrow")
"""How a file looks is no part of the page that it came from."""


def chart_file(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    return compare_chart_file(request, request.GET, name, kind, compare_link(request))


def table_file(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    return compare_table_file(request.GET, name, kind, compare_link(request))


@deprecated(
    "/compare/table.{kind}",
    since=date(2026, 11, 18),
    until=date(2027, 12, 1),
    successor="/compare/tables/values.{kind}",
)
def old_table_file(request: HttpRequest, kind: str) -> HttpResponse:
    """Where the table was before there were several."""
    return table_file(request, "values", kind)


def compare_link(request: HttpRequest) -> str:
    query = request.GET.copy()
    for name in NOT_THE_VIEW:
        query.pop(name, None)
    return request.build_absolute_uri(f"{reverse('compare')}?{query.urlencode()}")


def compare_chart_file(request: HttpRequest, query: QueryDict, name: str, kind: str, link: str) -> HttpResponse:
    if name not in CHART_BUILDERS:
        raise Http404
    selection, choices = requested_selection(query)
    chart = CHART_BUILDERS[name](selection, choices)
    return chart_response(request, chart, kind, f"compare-{name}", paper_source(runs=selection.runs, link=link))


def compare_table_file(query: QueryDict, name: str, kind: str, link: str) -> HttpResponse:
    if name not in TABLE_BUILDERS:
        raise Http404
    selection, choices = requested_selection(query)
    built = TABLE_BUILDERS[name](selection, choices)
    source = paper_source(runs=selection.runs, link=link)
    return table_response(built.table, kind, f"table-{name}", built.title, built.notes, source)
