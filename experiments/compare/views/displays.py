"""The displays of published studies, for any study: a page, and its charts as JSON and CSV."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from experiments.charts.chart import csv_text
from experiments.client_data.views import federations
from experiments.compare.choices import decimal
from experiments.compare.displays.charts import CHARTS
from experiments.compare.displays.offers import shown_for
from experiments.compare.displays.subject import Subject, subject_of
from experiments.compare.views.downloads import file
from experiments.models import Study
from experiments.presets.preset import Preset
from experiments.presets.selectors import preset_of

MOST_PICTURES = 10
"""More federations than this are chosen one at a time from a list."""


@gzip_page
def study_displays(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(Study.objects.select_related("owner"), pk=pk)
    return render(
        request, "pages/displays.html", {"study": study, **displays_context(request, study, preset_of(study))}
    )


def displays_context(request: HttpRequest, study: Study, preset: Preset | None, *, own: bool = False) -> dict[str, Any]:
    """`own`: only the preset's displays; otherwise all that fit."""
    subject = subject_of(study, preset, target=target_in(request))
    displays = shown_for(subject, preset.displays) if preset and own else shown_for(subject)
    names = federations(study.blocks) if any(display.holdings for display in displays) else []
    return {
        "displays": displays,
        "federations": names if len(names) <= MOST_PICTURES else [""],
        "display_base": reverse("displays", args=[study.pk]),
        "target": f"{100 * subject.target:g}",
    }


def target_in(request: HttpRequest) -> float | None:
    asked = decimal(request.GET, "target")
    return asked / 100 if asked is not None and 0 < asked <= 100 else None


@gzip_page
def display_chart(request: HttpRequest, pk: int, name: str) -> JsonResponse:
    return JsonResponse(CHARTS[known(name)](found(pk, narrow=request.GET.get("narrow") == "1")).answer())


def display_csv(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    return file(csv_text(CHARTS[known(name)](found(pk)).table), "text/csv", f"study-{pk}-{name}.csv")


def known(name: str) -> str:
    if name not in CHARTS:
        raise Http404
    return name


def found(pk: int, *, narrow: bool = False) -> Subject:
    return subject_of(get_object_or_404(Study, pk=pk), narrow=narrow)
