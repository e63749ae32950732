"""The Compare page, tab by tab, and its charts as JSON."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from experiments.compare.charts import CHARTS
from experiments.compare.choices import Choices, choices_of
from experiments.compare.drawn import Drawn
from experiments.compare.picked import Picked, picked
from experiments.selectors.compare.picks import studies_offered, tags_in_use
from experiments.selectors.saved_views import links_for, views_for
from experiments.views.compare.strip import strip_context
from experiments.views.compare.tabs import tab_context
from experiments.views.people import person


@gzip_page
def compare(request: HttpRequest) -> HttpResponse:
    choices = choices_of(request.GET)
    found = picked(choices)
    context = {
        **page_context(found, choices, request.GET),
        "base": reverse("compare"),
        "offered": studies_offered(search=request.GET.get("q", "").strip()),
        "tags": tags_in_use(),
        "saved": views_for(person=person(request)),
        "links": links_for(person=person(request)),
        "search": request.GET.get("q", ""),
        "may_share": person(request).may_launch,
    }
    return render(request, "pages/compare.html", context)


def page_context(found: Picked, choices: Choices, query: QueryDict) -> dict[str, Any]:
    """What a visitor with a share link sees, too."""
    return {
        "choices": choices,
        "picked": found,
        "title": title_of(found),
        "facts": facts_of(found),
        "query": query.urlencode(),
        **strip_context(found, choices, query),
        **tab_context(found, choices, query),
    }


def title_of(found: Picked) -> str:
    names = [study.name for study in found.studies]
    if not names:
        return "Compare"
    return " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more studies"


def facts_of(found: Picked) -> str:
    """What all cells have in common, in the order in which people say it."""
    if not found.cells:
        return ""
    spec, parts = found.cells[0].spec, ("strategy", "model", "dataset", "partition")
    fixed = [str(spec[part]["name"]) for part in parts if part not in found.axes]
    return " · ".join(fixed)


@gzip_page
def chart(request: HttpRequest, name: str) -> JsonResponse:
    return JsonResponse(drawn(name, request.GET).answer())


def drawn(name: str, query: QueryDict) -> Drawn:
    if name not in CHARTS:
        raise Http404
    choices = choices_of(query)
    return CHARTS[name](picked(choices), choices)
