"""A chart or a table as a file: vector figures, LaTeX, Markdown, and the numbers behind it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from threading import BoundedSemaphore
from typing import Any

from config.http_limits import web_share
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse

from experiments.charts.chart import Chart, csv_text, finite_only
from experiments.core.subprocesses import run_module
from experiments.papers.captions import (
    PaperSource,
    caption,
    chart_caption,
    figure_latex,
    notes_sentences,
    seed_counts_sentence,
)
from experiments.papers.figure_style import FIGURE_FORMATS, FigureStyle, figure_style
from experiments.papers.tables import PaperTable, table_latex, table_markdown, table_numbers

PATIENCE = 60
AT_ONCE = BoundedSemaphore(web_share(2))
"""Figures drawn at once: each is a process of its own for a second or two."""


def chart_response(request: HttpRequest, chart: Chart, kind: str, name: str, source: PaperSource) -> HttpResponse:
    """`kind` is csv, tex, or a figure's format; the address may say how it is to look, and which lines to leave out."""
    style = figure_style(request.GET)
    if kind == "csv":
        return file_response(csv_text(chart.table), "text/csv", f"{name}.csv")
    if kind == "tex":
        text = figure_latex(name, chart_caption(chart, source), source, spans_columns=style.spans_columns)
        return file_response(text, "application/x-tex", f"{name}.tex")
    if kind not in FIGURE_FORMATS or not chart.figure["data"]:
        raise Http404
    hidden = set(request.GET.getlist("hide"))
    return figure_response(without_lines(chart.figure, hidden), chart, hidden, style, kind, name, source)


def without_lines(figure: Mapping[str, Any], hidden: set[str]) -> dict[str, Any]:
    return {**figure, "data": [trace for trace in figure["data"] if trace.get("legendgroup") not in hidden]}


def figure_response(
    figure: Mapping[str, Any],
    chart: Chart,
    hidden: set[str],
    style: FigureStyle,
    form: str,
    name: str,
    source: PaperSource,
) -> HttpResponse:
    request = {
        "figure": finite_only(dict(figure)),
        "legend": [entry for entry in chart.legend if entry["label"] not in hidden],
        "style": style.as_dict(),
        "form": form,
        "caption": chart_caption(chart, source),
    }
    environment = {"MPLCONFIGDIR": str(settings.HOME.path / "matplotlib")}
    try:
        with AT_ONCE:
            content = run_module(
                "experiments.papers.drawing", json.dumps(request).encode(), timeout=PATIENCE, environment=environment
            )
    except subprocess.TimeoutExpired:
        message = f"The figure was not ready after {PATIENCE} seconds. Choose fewer lines, or try again later."
        return HttpResponse(message, content_type="text/plain", status=503)
    return file_response(content, FIGURE_FORMATS[form], f"{name}.{form}")


def table_response(
    table: PaperTable, kind: str, name: str, title: str, notes: str, source: PaperSource
) -> HttpResponse:
    seeds = "" if "n=" in notes else seed_counts_sentence(table.counts)
    text = caption(title, notes_sentences(notes), seeds, source)
    if kind == "tex":
        return file_response(table_latex(table, name, text, source), "application/x-tex", f"{name}.tex")
    if kind == "md":
        return file_response(table_markdown(table, text), "text/markdown", f"{name}.md")
    if kind == "csv":
        return file_response(csv_text(table_numbers(table)), "text/csv", f"{name}.csv")
    raise Http404


def file_response(content: str | bytes, content_type: str, name: str) -> HttpResponse:
    charset = "; charset=utf-8" if isinstance(content, str) else ""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=f"{content_type}{charset}", headers=headers)
