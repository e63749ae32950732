"""Buttons: pin a study, star a cell."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from experiments.bookmarks.services import baseline_star, baseline_unstar, study_pin, study_unpin
from experiments.core.json_values import plain_text
from experiments.models import Baseline, Study
from experiments.web.requests import current_user, redirect_back
from workers.errors import TributaryError

PIN_ACTIONS = ("pin", "unpin", "pin-for-all", "unpin-for-all")
STAR_ACTIONS = ("star", "unstar")


@require_POST
def pin_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    if action not in PIN_ACTIONS:
        raise Http404
    study, person = get_object_or_404(Study, pk=pk), current_user(request)
    change = study_unpin if action.startswith("unpin") else study_pin
    try_change(request, lambda: change(study=study, actor=person, for_all=action.endswith("for-all")))
    return redirect_back(request, "study", pk)


@require_POST
def baseline_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    if action not in STAR_ACTIONS:
        raise Http404
    study, cell, person = (
        get_object_or_404(Study, pk=pk),
        plain_text(request.POST.get("cell", "")),
        current_user(request),
    )
    if action == "star":
        try_change(request, lambda: baseline_star(study=study, cell=cell, actor=person))
    elif baseline := Baseline.objects.filter(study=study, cell=cell).first():
        try_change(request, lambda: baseline_unstar(baseline=baseline, actor=person))
    return redirect_back(request, "study", pk)


def try_change(request: HttpRequest, change: Callable[[], object]) -> None:
    try:
        change()
    except TributaryError as error:
        messages.error(request, error.detail)
