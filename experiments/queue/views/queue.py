"""The queue: what runs and what waits, and what is done to many of them at once."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from experiments.access.services.rights import may_manage
from experiments.core.json_values import plain_text
from experiments.models import Device, RunState, Study, User
from experiments.queue.selectors import queue as reads
from experiments.queue.selectors.queue import QueueRow, Wanted
from experiments.queue.selectors.workers import pulse
from experiments.queue.services import bulk
from experiments.studies.views.actions import back
from experiments.web.requests import page_or_part, person, whole_number
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
    actor, wanted = person(request), wanted_in(request.GET)
    page = max(1, whole_number(request.GET.get("page"), 1))
    counts = reads.queue_counts(wanted)
    total = sum(counts[state] for state in wanted.states)
    studies = list(reads.studies_in_queue(wanted)[: reads.STUDIES_SHOWN + 1])
    context = {
        "rows": [(row, may_cancel(actor, row), may_retry(actor, row)) for row in reads.queue_rows(wanted, page=page)],
        "studies": [(row, may_manage(actor, row.study)) for row in reads.study_rows(studies[: reads.STUDIES_SHOWN])],
        "more_studies": len(studies) > reads.STUDIES_SHOWN,
        "wanted": wanted,
        "counts": counts,
        "total": total,
        "page": page,
        "pages": max(1, -(-total // reads.PAGE)),
        "pulse": pulse(),
        "gpus": Device.GPU in reads.devices_here(),
        **choices(wanted),
    }
    return page_or_part(request, "pages/queue.html", "parts/queue_rows.html", context)


def choices(wanted: Wanted) -> dict[str, Any]:
    """What the filter offers, and the address of the present choice without its state or page."""
    kept = {"study": wanted.study, "person": wanted.person and wanted.person.username}
    return {
        "states": [state.value for state in reads.STATES],
        "people": reads.people_with_studies(),
        "chosen_study": Study.objects.filter(pk=wanted.study).first() if wanted.study else None,
        "scope": urlencode({name: value for name, value in kept.items() if value}),
    }


def wanted_in(given: Any) -> Wanted:
    """Whatever is not known counts as not chosen."""
    state, name = given.get("state", ""), plain_text(given.get("person", ""))
    return Wanted(
        study=whole_number(given.get("study"), 0) or None,
        person=User.objects.filter(username=name).first() if name else None,
        state=state if state in reads.STATES else "",
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
        tell(request, "run", service(runs=chosen_runs(request), actor=person(request)), words)
    except TributaryError as error:
        messages.error(request, error.detail)
    return back(request, "queue")


def chosen_runs(request: HttpRequest) -> list[int]:
    """The ticked ones, or all that the filter names."""
    if request.POST.get("all"):
        return list(reads.runs_in(wanted_in(request.POST)).values_list("pk", flat=True))
    return numbers(request, "run")


@require_POST
def studies_action(request: HttpRequest, action: str) -> HttpResponse:
    if action not in STUDY_WORDS:
        raise Http404
    try:
        outcome = bulk.studies_change(
            studies=numbers(request, "id"), actor=person(request), action=action, priority=priority_in(request)
        )
        tell(request, "study", outcome, STUDY_WORDS[action])
    except TributaryError as error:
        messages.error(request, error.detail)
    return back(request, "queue")


def priority_in(request: HttpRequest) -> int | None:
    text = request.POST.get("priority", "").strip()
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() and len(digits) < 5 else None


def numbers(request: HttpRequest, field: str) -> list[int]:
    return [number for text in request.POST.getlist(field) if (number := whole_number(text, 0))]


def tell(request: HttpRequest, noun: str, outcome: bulk.Outcome, words: str) -> None:
    if outcome.done:
        messages.success(request, f"{counted(outcome.done, noun)} {words}.")
    if outcome.refused:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in outcome.refused.most_common())
        messages.error(request, f"Not done to {counted(outcome.refused.total(), noun)}: {reasons}.")
    if not outcome.done and not outcome.refused:
        messages.error(request, "Nothing was ticked: tick rows first.")


def counted(number: int, noun: str) -> str:
    plural = "studies" if noun == "study" else f"{noun}s"
    return f"1 {noun}" if number == 1 else f"{number:,} {plural}"
