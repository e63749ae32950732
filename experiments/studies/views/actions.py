"""Buttons: each calls one service, says what happened, and goes back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from experiments.models import Run, Study
from experiments.queue.services.retry import run_retry
from experiments.queue.services.runs import run_cancel
from experiments.studies.services.changes import (
    study_archive,
    study_cancel,
    study_pause,
    study_restore,
    study_resume,
    study_retry,
)
from experiments.studies.services.deletion import study_delete
from experiments.web.requests import current_user, redirect_back, whole_number
from workers.errors import TributaryError

STUDY_ACTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "cancel": (study_cancel, "Cancelled. What was measured so far is kept."),
    "pause": (study_pause, "Paused: running runs go on, queued ones wait."),
    "resume": (study_resume, "Resumed."),
    "archive": (study_archive, "Archived: it is kept whole, and found under Archived."),
    "restore": (study_restore, "Back among the studies."),
    "retry": (study_retry, "Failed and cancelled runs are queued again; what changed since is launched as it is now."),
    "delete": (study_delete, "It is being deleted, and in no list any more."),
}
RUN_ACTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "cancel": (run_cancel, "The run is being cancelled."),
    "retry": (run_retry, "The run is queued again: from its last checkpoint, or anew where something changed."),
    "restart": (partial(run_retry, from_start=True), "The run is queued again, from its start."),
}


@require_POST
def study_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    study = get_object_or_404(Study, pk=pk)
    done, _ = carry_out(request, STUDY_ACTIONS, action, study=study, **action_options(request, action))
    return redirect("studies") if done and action == "delete" else redirect_back(request, "study", pk)


def action_options(request: HttpRequest, action: str) -> dict[str, Any]:
    """What else a button says: which failures to retry, and how many runs its reader agreed to delete."""
    if action == "retry" and "reason" in request.POST:
        return {"reason": request.POST["reason"]}
    if action == "delete" and "expected" in request.POST:
        return {"expected": whole_number(request.POST["expected"], 0)}
    return {}


@require_POST
def run_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    run = get_object_or_404(Run, pk=pk)
    done, changed = carry_out(request, RUN_ACTIONS, action, run=run)
    return redirect_back(request, "run", changed.pk if done else pk)


def carry_out(
    request: HttpRequest, actions: dict[str, tuple[Callable[..., Any], str]], action: str, **subject: Any
) -> tuple[bool, Any]:
    """Whether it was done, and what the service answered."""
    if action not in actions:
        raise Http404
    service, sentence = actions[action]
    try:
        answer = service(actor=current_user(request), **subject)
    except TributaryError as error:
        messages.error(request, error.detail)
        return False, None
    messages.success(request, sentence)
    return True, answer
