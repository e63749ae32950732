"""The bell: a Celery message that says "there may be work". Losing one loses nothing, as the scheduler rings again."""

from __future__ import annotations

import logging

from celery.exceptions import CeleryError
from django.db import transaction
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from experiments.models import Device, Run, RunState, Worker
from experiments.services.fleet import idle_workers, living_workers

logger = logging.getLogger(__name__)
TASK = "workers.tasks.work"
EXPIRES = 60


def ring_after_commit(new: int | None = None) -> None:
    transaction.on_commit(lambda: ring_for(new))


def ring_for(new: int | None = None) -> int:
    """Wakes at most as many workers as there are new runs; with none in sight, whoever comes next."""
    if new == 0:
        return 0
    known = living_workers()
    return send_bells(known[:new]) if known else int(send_bell(Device.CPU))


def ring() -> int:
    """Rings for idle workers while runs are queued; returns how many bells."""
    idle = idle_workers()
    waiting = Run.objects.filter(state=RunState.QUEUED, studies__paused=False, studies__cancelled=False)
    return send_bells(idle[: waiting[: len(idle)].count()]) if idle else 0


def send_bells(workers: list[Worker]) -> int:
    for worker in workers:
        if not send_bell(Device.CPU if worker.device == "cpu" else Device.GPU):
            return 0
    return len(workers)


def send_bell(device: str) -> bool:
    from config.celery import app

    try:
        app.send_task(TASK, queue=device, expires=EXPIRES, retry=False, ignore_result=True)
    except (CeleryError, KombuError, RedisError, OSError) as error:
        logger.warning("The bell did not ring, the scheduler will try again: %s", error)
        return False
    return True
