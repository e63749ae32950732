"""The displays of published studies, for any study: a page, and its charts and tables as files."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from experiments.charts.chart import Chart
from experiments.client_data.views import federation_names
from experiments.compare.choices import query_decimal
from experiments.compare.displays.charts import DISPLAY_CHARTS
from experiments.compare.displays.offers import displays_for
from experiments.compare.displays.subject import subject_of
from experiments.core.shared_computation import compute_once
from experiments.models import Run, Study
from experiments.papers.captions import PaperSource
from experiments.papers.responses import chart_response, table_response
from experiments.papers.selectors import paper_source
from experiments.presets.preset import Preset
from experiments.presets.selectors import study_preset

MOST_PICTURES = 10
"""More federations than this are chosen one at a time from a list."""


@gzip_page
def study_displays(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(Study.objects.select_related("owner"), pk=pk)
    return render(
        request, "pages/displays.html", {"study": study, **displays_context(request, study, study_preset(study))}
    )


def displays_context(request: HttpRequest, study: Study, preset: Preset | None, *, own: bool = False) -> dict[str, Any]:
    """`own`: only the preset's displays; otherwise all that fit."""
    target = requested_target(request)
    return compute_once(("displays", study.pk, target, own), lambda: read_displays(study, preset, target, own=own))


def read_displays(study: Study, preset: Preset | None, target: float | None, *, own: bool) -> dict[str, Any]:
    subject = subject_of(study, preset, target=target)
    displays = displays_for(subject, preset.displays) if preset and own else displays_for(subject)
    names = federation_names(study.blocks) if any(display.holdings for display in displays) else []
    return {
        "large": subject.is_large,
        "cell_count": len(subject.selection.cells),
        "displays": displays,
        "federations": names if len(names) <= MOST_PICTURES else [""],
        "display_base": reverse("displays", args=[study.pk]),
        "target": f"{100 * subject.target:g}",
    }


def requested_target(request: HttpRequest) -> float | None:
    percent = query_decimal(request.GET, "target")
    return percent / 100 if percent is not None and 0 < percent <= 100 else None


@gzip_page
def display_chart(request: HttpRequest, pk: int, name: str) -> JsonResponse:
    return JsonResponse(build_display_chart(pk, name, narrow=request.GET.get("narrow") == "1").answer())


def display_chart_file(request: HttpRequest, pk: int, name: str, kind: str) -> HttpResponse:
    chart = build_display_chart(pk, name)
    return chart_response(request, chart, kind, f"study-{pk}-{name}", display_source(request, pk))


def display_table_file(request: HttpRequest, pk: int, name: str, kind: str) -> HttpResponse:
    """Of all the tables that fit the study, the one with that name in its address."""
    study = get_object_or_404(Study, pk=pk)
    displays = displays_for(subject_of(study, study_preset(study), target=requested_target(request)))
    table = next((table for display in displays for table in display.tables if table.slug == name), None)
    if table is None:
        raise Http404
    source = display_source(request, pk)
    return table_response(table.paper_table, kind, f"study-{pk}-{name}", table.title, table.caption, source)


def display_source(request: HttpRequest, pk: int) -> PaperSource:
    runs = Run.objects.filter(studies=pk).values_list("pk", flat=True)
    return paper_source(runs=list(runs), link=request.build_absolute_uri(reverse("displays", args=[pk])))


def build_display_chart(pk: int, name: str, *, narrow: bool = False) -> Chart:
    if name not in DISPLAY_CHARTS:
        raise Http404
    return DISPLAY_CHARTS[name](subject_of(get_object_or_404(Study, pk=pk), narrow=narrow))
