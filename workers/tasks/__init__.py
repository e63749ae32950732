"""The Celery side of the queue: a message says that there is work, and a worker takes runs until none is left."""

from __future__ import annotations

import logging
from typing import Any

from celery import shared_task, signals
from django.conf import settings
from django.db import OperationalError, connection

from experiments.services.sessions import bound_transactions
from workers.agent import Agent

logger = logging.getLogger(__name__)

agents: list[Agent] = []


@shared_task(name="workers.tasks.work", ignore_result=True)
def work() -> int:
    try:
        return sum(agent.work() for agent in agents)
    except OperationalError as error:
        logger.warning("No work, the database does not answer: %s", error)
        return 0


@signals.worker_ready.connect
def arrive(sender: Any, **_: Any) -> None:
    bound_transactions()
    connection.close()
    agent = Agent(sender.hostname, settings.WORKER_DEVICE, settings.WORKER_THREADS)
    agents.append(agent)
    agent.start()


@signals.worker_shutting_down.connect
def prepare_to_leave(**_: Any) -> None:
    """Runs in the middle of whatever the process does: it only sets a flag, which the next heartbeat heeds."""
    for agent in agents:
        agent.leaving.set()


@signals.worker_shutdown.connect
def leave(**_: Any) -> None:
    for agent in agents:
        agent.leave()
