"""Wakes up workers: a Celery message says "there may be work". One that is lost is made good by the scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from experiments.core.messages import send_messages
from experiments.models import Device, Membership, Run, RunState, Worker
from experiments.queue.selectors.workers import available_workers, idle_workers

TASK = "workers.queue.task.work"


def wake_up_after_commit(new: int | None = None) -> None:
    transaction.on_commit(lambda: wake_up_workers(new))


def wake_up_workers(new: int | None = None) -> int:
    """Wakes at most as many workers as there are new runs; with none in sight, whoever comes next."""
    if new == 0:
        return 0
    workers = available_workers()
    return send_wake_ups(queue_names(workers_to_wake(workers)[:new]) if workers else [Device.CPU])


def wake_up_idle_workers() -> int:
    """Sends a message for each idle worker while runs are queued; returns how many."""
    return send_wake_ups(queue_names(workers_to_wake(idle_workers())))


def workers_to_wake(workers: Sequence[Worker]) -> list[Worker]:
    """Those for whom something waits: GPUs first for what needs one, then CPUs, then the GPUs that are left."""
    fast = [worker for worker in workers if worker.device_type != "cpu"]
    slow = [worker for worker in workers if worker.device_type == "cpu"]
    needed = min(len(fast), count_waiting(Device.GPU, len(fast)) + count_begun_on_gpus(len(fast)))
    return [*fast[:needed], *[*slow, *fast[needed:]][: count_waiting(Device.CPU, len(workers))]]


def count_waiting(device: str, most: int) -> int:
    members = Membership.objects.filter(
        waiting=True, study__paused=False, study__cancelled=False, study__requires=device
    )
    return members.order_by()[:most].count() if most else 0


def count_begun_on_gpus(most: int) -> int:
    """Runs that would do on a CPU, but began on a GPU and go on there."""
    begun = Run.objects.filter(state=RunState.QUEUED, device_type__gt="", requires=Device.CPU)
    return begun.exclude(device_type="cpu").order_by()[:most].count() if most else 0


def queue_names(workers: Sequence[Worker]) -> list[str]:
    return [Device.CPU if worker.device_type == "cpu" else Device.GPU for worker in workers]


def send_wake_ups(queues: Sequence[str]) -> int:
    """How many were sent."""
    return send_messages(TASK, queues)
