"""Workers: who is alive, what each of them runs, and what it used over the last hour."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import connection
from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet, Sum
from django.db.models.functions import Now

from experiments.models import Run, RunState, Study, Worker

MINUTES = 60
TROUBLE, SLURM_JOB = "trouble", "slurm_job"
BEAT_SECONDS = 5
ALIVE_FOR = timedelta(seconds=4 * BEAT_SECONDS)

# A point a minute, the oldest first; -1 is now.
LAST_HOUR = """
SELECT sample.worker_id, least(-1, floor(extract(epoch FROM sample.at - now()) / 60))::int AS minute,
    avg(sample.rounds_per_second), avg(sample.cpu), avg(sample.memory)::float8,
    avg(sample.gpu), avg(sample.gpu_memory)::float8
FROM experiments_workersample AS sample
WHERE sample.worker_id = ANY(%s) AND sample.at > now() - interval '1 hour'
GROUP BY sample.worker_id, minute
"""

STATES = ("running", "idle", "leaving", "drained", "silent")
Line = list[float | None]


@dataclass(frozen=True)
class Pulse:
    workers: int
    rounds_per_second: float
    busy: int = 0
    """Workers at a run, whose rounds may take minutes."""


@dataclass(frozen=True)
class LastHour:
    """A value a minute, None where the worker told nothing."""

    rounds_per_second: Line = field(default_factory=lambda: [None] * MINUTES)
    cpu: Line = field(default_factory=lambda: [None] * MINUTES)
    memory: Line = field(default_factory=lambda: [None] * MINUTES)
    gpu: Line = field(default_factory=lambda: [None] * MINUTES)
    gpu_memory: Line = field(default_factory=lambda: [None] * MINUTES)

    @property
    def lines(self) -> tuple[Line, ...]:
        return (self.rounds_per_second, self.cpu, self.memory, self.gpu, self.gpu_memory)


@dataclass(frozen=True)
class WorkerRow:
    worker: Worker
    alive: bool
    run: Run | None
    hour: LastHour = field(default_factory=LastHour)

    @property
    def state(self) -> str:
        """One word of STATES: what a person asks first."""
        if not self.alive:
            return "silent"
        if self.worker.draining:
            return "leaving" if self.run else "drained"
        return "running" if self.run else "idle"


def current_pulse() -> Pulse:
    at_work = Exists(Run.objects.filter(worker=OuterRef("pk"), state=RunState.RUNNING))
    totals = (
        living_workers()
        .order_by()
        .aggregate(workers=Count("pk"), speed=Sum("rounds_per_second"), busy=Count("pk", filter=at_work))
    )
    return Pulse(totals["workers"], totals["speed"] or 0.0, totals["busy"])


def worker_rows() -> list[WorkerRow]:
    """The living first, by host and name."""
    alive = set(living_workers().values_list("pk", flat=True))
    holders = Prefetch("studies", Study.objects.select_related("owner").order_by("pk"))
    # Those that were claimed ahead and have not begun come last.
    running = Run.objects.filter(state=RunState.RUNNING).order_by("started", "pk").prefetch_related(holders)
    at_work = Prefetch("runs", running, to_attr="running")
    workers = list(Worker.objects.order_by("host", "name").prefetch_related(at_work))
    hours = last_hour_by_worker([each.pk for each in workers])
    rows = [WorkerRow(each, each.pk in alive, next(iter(each.running), None), hours[each.pk]) for each in workers]
    return sorted(rows, key=lambda row: not row.alive)


def worker_states() -> dict[str, int]:
    """How many workers are in each of STATES that has any."""
    alive = set(living_workers().values_list("pk", flat=True))
    running = Run.objects.filter(state=RunState.RUNNING)
    workers = Worker.objects.prefetch_related(Prefetch("runs", running, to_attr="running"))
    rows = [WorkerRow(each, each.pk in alive, next(iter(each.running), None)) for each in workers]
    return dict(Counter(row.state for row in rows))


def last_hour_by_worker(workers: Sequence[int]) -> dict[int, LastHour]:
    hours: dict[int, LastHour] = defaultdict(LastHour)
    with connection.cursor() as cursor:
        cursor.execute(LAST_HOUR, [list(workers)])
        for worker, minute, *values in cursor.fetchall():
            for line, value in zip(hours[worker].lines, values, strict=True):
                line[minute] = value
    return hours


def highest_value(line: Iterable[float | None]) -> float:
    return max((value for value in line if value is not None), default=0.0)


def latest_value(line: Sequence[float | None]) -> float | None:
    """Of the last two minutes, so that a worker which fell silent shows nothing."""
    return next((value for value in reversed(line[-2:]) if value is not None), None)


def living_workers() -> QuerySet[Worker]:
    return Worker.objects.filter(heartbeat__gt=Now() - ALIVE_FOR).order_by("id")


def living_device_types() -> set[str]:
    """Of workers that live and whose device works, those that take no run for the moment too."""
    return {worker.device_type for worker in living_workers() if TROUBLE not in worker.facts}


def available_workers() -> list[Worker]:
    return list(living_workers().filter(draining=False))


def idle_workers() -> list[Worker]:
    busy = Run.objects.filter(worker=OuterRef("pk"), state=RunState.RUNNING)
    return list(living_workers().filter(draining=False).exclude(Exists(busy)))
