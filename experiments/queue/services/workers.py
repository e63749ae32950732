"""Workers as rows: who is there, who is idle, who was asked to leave. Database time rules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_admin
from experiments.core.json_values import plain_text
from experiments.models import Run, RunState, User, Worker, WorkerSample
from experiments.queue.selectors.workers import TROUBLE
from experiments.queue.services.leases import lose_runs

FORGET_AFTER = KEEP_SAMPLES = timedelta(days=1)


def worker_enlist(*, name: str, host: str, device: str, threads: int, facts: Mapping[str, Any] | None = None) -> Worker:
    """A process that starts under this name; whoever had it before is gone, and so are its leases."""
    with transaction.atomic():
        worker, _ = Worker.objects.update_or_create(
            name=name,
            defaults={
                "host": host,
                "device": device,
                "threads": threads,
                "facts": dict(facts or {}),
                "started": Now(),
                "heartbeat": Now(),
                "rounds_per_second": 0,
                "store_errors": 0,
                "draining": False,
            },
        )
        lose_runs(Run.objects.filter(worker=worker, state=RunState.RUNNING), f"Worker {name} was restarted.")
    worker.refresh_from_db()
    return worker


def worker_beat(*, worker: Worker, rounds_per_second: float, store_errors: int = 0) -> bool:
    """False where the row is gone."""
    now = {"heartbeat": Now(), "rounds_per_second": rounds_per_second, "store_errors": store_errors}
    return bool(Worker.objects.filter(pk=worker.pk).update(**now))


def worker_sample(
    *,
    worker: Worker,
    rounds_per_second: float,
    cpu: float,
    memory: int,
    gpu: float | None = None,
    gpu_memory: int | None = None,
) -> None:
    """What the slot uses at this moment."""
    WorkerSample.objects.create(
        worker=worker,
        at=Now(),
        rounds_per_second=rounds_per_second,
        cpu=cpu,
        memory=memory,
        gpu=gpu,
        gpu_memory=gpu_memory,
    )


def samples_prune() -> int:
    deleted, _ = WorkerSample.objects.filter(at__lt=Now() - KEEP_SAMPLES).delete()
    return deleted


def worker_leave(*, worker: Worker) -> None:
    Worker.objects.filter(pk=worker.pk).delete()


def worker_drain(*, worker: Worker, actor: User, draining: bool = True) -> None:
    """A draining worker hands its run back with a checkpoint and takes no other, until it is asked to resume."""
    require_admin(actor)
    with transaction.atomic():
        set_draining(worker, draining)
        action = "worker.drain" if draining else "worker.resume"
        audit_record(actor=actor, action=action, subject=f"worker {worker.name}")


def worker_withdraw(*, worker: Worker, reason: str) -> None:
    """Its device cannot compute: it takes no run until an admin resumes it, or it starts anew."""
    with transaction.atomic():
        set_draining(worker, True, {TROUBLE: plain_text(reason)})


def set_draining(worker: Worker, draining: bool, trouble: Mapping[str, str] | None = None) -> None:
    row = Worker.objects.select_for_update().filter(pk=worker.pk).first()
    if row is not None:
        facts = {name: value for name, value in row.facts.items() if name != TROUBLE}
        row.draining, row.facts = draining, {**facts, **(trouble or {})}
        row.save(update_fields=["draining", "facts"])


def workers_forget() -> int:
    """Drops rows of workers that have been silent for a day."""
    deleted, _ = Worker.objects.filter(heartbeat__lt=Now() - FORGET_AFTER).delete()
    return deleted
