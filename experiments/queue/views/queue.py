"""The queue: what runs and what waits, and what is done to many of them at once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from experiments.access.services.rights import may_manage
from experiments.core.json_values import plain_text
from experiments.models import Device, Role, RunState, Study, User
from experiments.queue.selectors import queue as reads
from experiments.queue.selectors.queue import QueueFilters, QueueRow
from experiments.queue.selectors.workers import current_pulse
from experiments.queue.services import bulk
from experiments.results.live.changes import LAB
from experiments.results.live.parts import live_page
from experiments.studies.selectors.studies import has_own_studies
from experiments.web.requests import current_user, redirect_back, whole_number
from workers.errors import TributaryError

RUN_ACTIONS = {
    "cancel": (bulk.runs_cancel, "cancelled; those at work stop within seconds"),
    "retry": (bulk.runs_retry, "queued again, each from its last checkpoint"),
}
STUDY_WORDS = {
    "pause": "paused: running runs go on, queued ones wait",
    "resume": "resumed",
    "cancel": "cancelled; what was measured so far is kept",
    "retry": "queued again where runs had failed or were cancelled",
    "priority": "given the new priority",
}


def queue_page(request: HttpRequest) -> HttpResponse:
    """What a member may do differs with what is theirs; viewers may do nothing, and admins everything."""
    actor = current_user(request)

    def viewer() -> Hashable:
        return actor.role, actor.pk if actor.role == Role.MEMBER and has_own_studies(actor) else None

    return live_page(
        request,
        "pages/queue.html",
        "parts/queue_rows.html",
        scope=LAB,
        viewer=viewer,
        make_context=lambda: queue_context(request),
    )


def queue_context(request: HttpRequest) -> dict[str, Any]:
    actor, filters = current_user(request), parse_queue_filters(request.GET)
    page = max(1, whole_number(request.GET.get("page"), 1))
    counts = reads.queue_counts(filters)
    total = sum(counts[state] for state in filters.states)
    studies = list(reads.studies_in_queue(filters)[: reads.MOST_STUDIES + 1])
    return {
        "groups": [
            (group, [(row, may_cancel(actor, row), may_retry(actor, row)) for row in group.rows])
            for group in reads.group_by_cell(reads.queue_rows(filters, page=page))
        ],
        "studies": [
            (row, may_manage(actor, row.study)) for row in reads.studies_with_progress(studies[: reads.MOST_STUDIES])
        ],
        "more_studies": len(studies) > reads.MOST_STUDIES,
        "filters": filters,
        "counts": counts,
        "total": total,
        "page": page,
        "pages": max(1, -(-total // reads.PAGE)),
        "pulse": current_pulse(),
        "gpus": Device.GPU in reads.available_devices(),
        **filter_context(filters),
    }


def filter_context(filters: QueueFilters) -> dict[str, Any]:
    """What the filter offers, and the address of the present choice without its state or page."""
    scope = {"study": filters.study, "person": filters.person and filters.person.username}
    return {
        "states": [state.value for state in reads.QUEUE_STATES],
        "people": reads.people_with_studies(),
        "chosen_study": Study.objects.filter(pk=filters.study).first() if filters.study else None,
        "scope": urlencode({name: value for name, value in scope.items() if value}),
    }


def parse_queue_filters(data: Any) -> QueueFilters:
    """Whatever is not known counts as not chosen."""
    state, name = data.get("state", ""), plain_text(data.get("person", ""))
    return QueueFilters(
        study=whole_number(data.get("study"), 0) or None,
        person=User.objects.filter(username=name).first() if name else None,
        state=state if state in reads.QUEUE_STATES else "",
    )


def may_cancel(actor: User, row: QueueRow) -> bool:
    live = row.run.state in (RunState.QUEUED, RunState.RUNNING) and not row.run.cancel_requested
    return live and all(may_manage(actor, study) for study in row.studies if not study.cancelled)


def may_retry(actor: User, row: QueueRow) -> bool:
    ended = row.run.state in (RunState.FAILED, RunState.CANCELLED)
    return ended and any(may_manage(actor, study) for study in row.studies)


@require_POST
def runs_action(request: HttpRequest, action: str) -> HttpResponse:
    if action not in RUN_ACTIONS:
        raise Http404
    service, words = RUN_ACTIONS[action]
    try:
        report_outcome(request, "run", service(runs=selected_runs(request), actor=current_user(request)), words)
    except TributaryError as error:
        messages.error(request, error.detail)
    return redirect_back(request, "queue")


def selected_runs(request: HttpRequest) -> list[int]:
    """The ticked ones, or all that the filter names."""
    if request.POST.get("all"):
        return list(reads.filter_queue(parse_queue_filters(request.POST)).values_list("pk", flat=True))
    return posted_ids(request, "run")


@require_POST
def studies_action(request: HttpRequest, action: str) -> HttpResponse:
    if action not in STUDY_WORDS:
        raise Http404
    try:
        outcome = bulk.studies_change(
            studies=posted_ids(request, "id"),
            actor=current_user(request),
            action=action,
            priority=parse_priority(request),
        )
        report_outcome(request, "study", outcome, STUDY_WORDS[action])
    except TributaryError as error:
        messages.error(request, error.detail)
    return redirect_back(request, "queue")


def parse_priority(request: HttpRequest) -> int | None:
    text = request.POST.get("priority", "").strip()
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() and len(digits) < 5 else None


def posted_ids(request: HttpRequest, field: str) -> list[int]:
    return [number for text in request.POST.getlist(field) if (number := whole_number(text, 0))]


def report_outcome(request: HttpRequest, noun: str, outcome: bulk.BulkOutcome, words: str) -> None:
    if outcome.done:
        messages.success(request, f"{count_text(outcome.done, noun)} {words}.")
    if outcome.refused:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in outcome.refused.most_common())
        messages.error(request, f"Not done to {count_text(outcome.refused.total(), noun)}: {reasons}.")
    if not outcome.done and not outcome.refused:
        messages.error(request, "Nothing was ticked: tick rows first.")


def count_text(number: int, noun: str) -> str:
    plural = "studies" if noun == "study" else f"{noun}s"
    return f"1 {noun}" if number == 1 else f"{number:,} {plural}"
