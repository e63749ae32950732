"""GET /metrics: the lab as Prometheus reads it, for tokens and people of the lab.

Every number is read from the database when it is asked for, except the times of requests and what the web server takes:
those are sums over its processes.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from operator import add
from time import perf_counter
from typing import Any

import psutil
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.db.models import Count, Min, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from experiments.api.errors import NOT_LOGGED_IN, error_response
from experiments.api.site import may_read
from experiments.models import Attempt, Job, JobState, Membership, Outcome, Run, RunState, Study, Worker
from experiments.queue.selectors.workers import STATES, current_pulse, worker_states
from workers.home import free_bytes

ACTIVE = (RunState.QUEUED, RunState.RUNNING)
MOST_STUDIES = 100
"""Of those with runs that wait or are at work, the newest: each of them is a series of its own."""
LAST_HOUR = timedelta(hours=1)
# A number of rows would fall when a study is deleted.
CLAIMS = "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('experiments_attempt', 'id')::regclass), 0)"
CONNECTIONS = """
SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity WHERE backend_type = 'client backend'
"""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class LabCollector(Collector):
    """What the tables say at this moment."""

    def collect(self) -> Iterator[Metric]:
        yield count_rows("tributary_runs", "Runs by state", "state", Run.objects.all(), RunState.values)
        yield count_study_runs()
        yield gauge("tributary_oldest_queued_seconds", "How long the oldest waiting run waits", seconds_waiting())
        yield gauge_by("tributary_workers", "Workers by what they do", "state", STATES, worker_states())
        yield count_store_errors()
        yield gauge("tributary_rounds_per_second", "Of all living workers", current_pulse().rounds_per_second)
        yield CounterMetricFamily("tributary_claims", "Runs that workers took, again ones too", read_row(CLAIMS)[0])
        ended = Attempt.objects.filter(ended__gt=Now() - LAST_HOUR)
        text = "Attempts that ended in the last hour, by outcome: lost ones lost their lease"
        yield count_rows("tributary_attempts_ended_last_hour", text, "outcome", ended, Outcome.values)
        yield count_rows("tributary_jobs", "Jobs of housekeeping by state", "state", Job.objects.all(), JobState.values)
        used, most = read_row(CONNECTIONS)
        yield gauge("tributary_database_connections", "Connections to PostgreSQL", used)
        yield gauge("tributary_database_connections_limit", "PostgreSQL's max_connections", most)
        yield gauge("tributary_home_free_bytes", "Room left on the disk of TRIBUTARY_HOME", free_bytes())


class WebProcessCollector(Collector):
    """What all web processes take together."""

    def collect(self) -> Iterator[Metric]:
        processes = web_process_ids()
        yield gauge("tributary_web_processes", "Web processes behind the port", len(processes))
        families: dict[str, Metric] = {}
        for process in processes:
            for family in ProcessCollector("tributary_web", partial(int, process), registry=None).collect():
                add_values(families.setdefault(family.name, family), family)
        yield from families.values()


def add_values(total: Metric, family: Metric) -> None:
    """The earliest start, and sums of all else."""
    if total is not family:
        together = min if family.name.endswith("start_time_seconds") else add
        pairs = zip(total.samples, family.samples, strict=True)
        total.samples = [each._replace(value=together(each.value, other.value)) for each, other in pairs]


def web_process_ids() -> list[int]:
    """Where there are several, all have the same parent, and it has other children too."""
    if settings.WEB_PROCESSES == 1:
        return [os.getpid()]
    children = psutil.Process(os.getppid()).children()
    return [child.pid for child in children if is_web_process(child)]


def is_web_process(process: psutil.Process) -> bool:
    try:
        return settings.ASGI_APPLICATION.replace(".application", ":application") in process.cmdline()
    except psutil.Error:
        return False


REQUEST_SECONDS = Histogram(
    "tributary_request_seconds",
    "Time until an answer begins, by the pattern of its address",
    ["method", "route", "status"],
    buckets=BUCKETS,
    registry=None,
)


def lab_registry() -> CollectorRegistry:
    """Several web processes count in files of a folder that they share."""
    registry = CollectorRegistry()
    registry.register(LabCollector())
    registry.register(WebProcessCollector())
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REQUEST_SECONDS)
    return registry


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not may_read(request):
        return error_response(401, NOT_LOGGED_IN)
    text = generate_latest(lab_registry())
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, f"{text}.", value=value)


def gauge_by(name: str, text: str, label: str, known: Iterable[str], values: dict[str, int]) -> Metric:
    """With 0 for what there is none of: a series that comes and goes draws gaps, and raises no alarm."""
    family = GaugeMetricFamily(name, f"{text}.", labels=[label])
    for each in known:
        family.add_metric([each], values.get(each, 0))
    return family


def count_rows(name: str, text: str, field: str, rows: QuerySet[Any], known: Iterable[str]) -> Metric:
    counts = rows.order_by().values_list(field).annotate(Count("pk"))
    return gauge_by(name, text, field, known, dict(counts))


def count_study_runs() -> Metric:
    family = GaugeMetricFamily(
        "tributary_study_runs",
        f"Runs of the {MOST_STUDIES} newest studies that have any to compute.",
        labels=["study", "name", "state"],
    )
    active = Membership.objects.filter(run__state__in=ACTIVE).order_by("-study").values("study").distinct()
    studies = dict(Study.objects.filter(pk__in=active[:MOST_STUDIES]).values_list("pk", "name"))
    held = Membership.objects.filter(study__in=studies).order_by()
    for study, state, count in held.values_list("study", "run__state").annotate(Count("run")):
        family.add_metric([str(study), studies[study], state], count)
    return family


def count_store_errors() -> Metric:
    """Workers that are gone take theirs along."""
    text = "Times that the store for files did not answer a worker since it started."
    family = CounterMetricFamily("tributary_store_errors", text, labels=["worker"])
    for name, errors in Worker.objects.values_list("name", "store_errors"):
        family.add_metric([name], errors)
    return family


def seconds_waiting() -> float:
    """0 where nothing waits."""
    oldest = Run.objects.filter(state=RunState.QUEUED).aggregate(age=Now() - Min("created"))["age"]
    return oldest.total_seconds() if oldest else 0.0


def read_row(query: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        row: tuple[Any, ...] = cursor.fetchone()
    return row


class RequestTimesMiddleware:
    """Counts how long pages and routes take. What is no address is `none`, so that nobody makes series at will."""

    sync_capable = async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        started = perf_counter()
        response = self.get_response(request)
        if isinstance(response, HttpResponseBase):
            return note_time(request, response, started)
        return self.later(request, response, started)

    async def later(
        self, request: HttpRequest, response: Awaitable[HttpResponseBase], started: float
    ) -> HttpResponseBase:
        return note_time(request, await response, started)


def note_time(request: HttpRequest, response: HttpResponseBase, started: float) -> HttpResponseBase:
    match = request.resolver_match
    route = f"/{match.route}" if match else "none"
    method = request.method if request.method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE") else "other"
    REQUEST_SECONDS.labels(method, route, f"{response.status_code // 100}xx").observe(perf_counter() - started)
    return response
