"""The displays of published studies, for any study: a page, and its charts as JSON and CSV."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from experiments.charts.chart import Chart, csv_text
from experiments.client_data.views import federation_names
from experiments.compare.choices import query_decimal
from experiments.compare.displays.charts import DISPLAY_CHARTS
from experiments.compare.displays.offers import displays_for
from experiments.compare.displays.subject import subject_of
from experiments.compare.views.downloads import file_response
from experiments.models import Study
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
    subject = subject_of(study, preset, target=requested_target(request))
    displays = displays_for(subject, preset.displays) if preset and own else displays_for(subject)
    names = federation_names(study.blocks) if any(display.holdings for display in displays) else []
    return {
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


def display_csv(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    return file_response(csv_text(build_display_chart(pk, name).table), "text/csv", f"study-{pk}-{name}.csv")


def build_display_chart(pk: int, name: str, *, narrow: bool = False) -> Chart:
    if name not in DISPLAY_CHARTS:
        raise Http404
    return DISPLAY_CHARTS[name](subject_of(get_object_or_404(Study, pk=pk), narrow=narrow))
