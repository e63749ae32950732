"""Workers, and the header's one line about them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.defaultfilters import filesizeformat
from django.views.decorators.http import require_POST

from experiments.catalog.selectors import component_problems
from experiments.models import Worker
from experiments.queue.selectors.workers import Line, WorkerRow, current_pulse, highest_value, latest_value, worker_rows
from experiments.queue.services.workers import worker_drain
from experiments.queue.template_tags import pace
from experiments.web.requests import current_user, page_or_part, redirect_back
from workers.errors import TributaryError

WORKER_ACTIONS = {
    "drain": (True, "{} takes no further run; the one at work goes back to the queue with its checkpoint."),
    "resume": (False, "{} takes runs again."),
}
HEADROOM = 1.1


@dataclass(frozen=True)
class Gauge:
    """One line of the last hour, with what it is now in words; `top` is its full height."""

    title: str
    now: str
    line: Line
    top: float

    @property
    def words(self) -> str:
        return f"{self.title} over the last hour, now {self.now or 'unknown'}"


def workers_page(request: HttpRequest) -> HttpResponse:
    rows = worker_rows()
    context = {
        "rows": [(row, gauges_of(row)) for row in rows],
        "alive": sum(row.alive for row in rows),
        "at_work": sum(row.state in ("running", "leaving") for row in rows),
        "problems": component_problems(row.worker for row in rows if row.alive),
        "pulse": current_pulse(),
    }
    return page_or_part(request, "pages/workers.html", "parts/worker_rows.html", context)


def gauges_of(row: WorkerRow) -> list[Gauge]:
    hour, facts = row.hour, row.worker.facts
    pace_now, cpu, memory = latest_value(hour.rounds_per_second), latest_value(hour.cpu), latest_value(hour.memory)
    gauges = [
        Gauge(
            "Rounds",
            pace(pace_now) if pace_now else "",
            hour.rounds_per_second,
            highest_value(hour.rounds_per_second) * HEADROOM,
        ),
        Gauge("CPU", percent_text(cpu), hour.cpu, 1.0),
        Gauge("Memory", size_text(memory), hour.memory, highest_value(hour.memory) * HEADROOM),
    ]
    if row.worker.device == "cpu":
        return gauges
    gpu_memory = facts.get("gpu_memory") or highest_value(hour.gpu_memory)
    return [
        *gauges,
        Gauge("GPU", percent_text(latest_value(hour.gpu)), hour.gpu, 1.0),
        Gauge("GPU memory", size_text(latest_value(hour.gpu_memory)), hour.gpu_memory, gpu_memory),
    ]


def percent_text(value: float | None) -> str:
    return "" if value is None else f"{value * 100:.0f} %"


def size_text(value: float | None) -> str:
    return "" if value is None else filesizeformat(value)


@require_POST
def worker_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    if action not in WORKER_ACTIONS:
        raise Http404
    draining, words = WORKER_ACTIONS[action]
    worker = get_object_or_404(Worker, pk=pk)
    try:
        worker_drain(worker=worker, actor=current_user(request), draining=draining)
        messages.success(request, words.format(worker.name))
    except TributaryError as error:
        messages.error(request, error.detail)
    return redirect_back(request, "workers")


def pulse_part(request: HttpRequest) -> HttpResponse:
    return render(request, "parts/pulse.html", {"pulse": current_pulse()})
