"""Workers: who is alive, and what each of them runs."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Prefetch, Sum

from experiments.models import Run, RunState, Worker
from experiments.services.fleet import living


@dataclass(frozen=True)
class Pulse:
    workers: int
    rounds_per_second: float


@dataclass(frozen=True)
class WorkerRow:
    worker: Worker
    alive: bool
    run: Run | None


def pulse() -> Pulse:
    found = living().order_by().aggregate(workers=Count("pk"), speed=Sum("rounds_per_second"))
    return Pulse(found["workers"], found["speed"] or 0.0)


def worker_rows() -> list[WorkerRow]:
    alive = set(living().values_list("pk", flat=True))
    running = Prefetch("runs", Run.objects.filter(state=RunState.RUNNING), to_attr="running")
    workers = Worker.objects.order_by("host", "name").prefetch_related(running)
    rows = [WorkerRow(each, each.pk in alive, next(iter(each.running), None)) for each in workers]
    return sorted(rows, key=lambda row: not row.alive)
