"""Celery messages say "there may be work". Without a broker the sender goes on, and the scheduler sends them again."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from celery.exceptions import CeleryError
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)
EXPIRES = 60
FAIL_FAST = {"max_retries": 0, "interval_start": 0, "socket_connect_timeout": 2}


def send_messages(task: str, queues: Sequence[str]) -> int:
    """One to each of the queues named; how many were sent."""
    from config.celery import app

    if not queues:
        return 0
    try:
        with app.connection_for_write(transport_options={**app.conf.broker_transport_options, **FAIL_FAST}) as broker:
            for queue in queues:
                app.send_task(task, queue=queue, connection=broker, expires=EXPIRES, retry=False, ignore_result=True)
    except (CeleryError, KombuError, RedisError, OSError) as error:
        logger.warning("Nobody could be woken up, the scheduler will try again: %s", error)
        return 0
    return len(queues)
