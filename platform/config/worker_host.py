"""`manage.py workers`: only workers, for a further machine or a container; they find the platform by its addresses."""

from __future__ import annotations

import socket

from django.conf import settings

from config.processes import child_environment, own_worker_slots, worker_command
from config.services.server import Command
from config.supervisor import StopSignal, Supervisor, process_child
from config.up import WORKER_GRACE_SECONDS, StartError, check_database, check_redis


def run_workers(label: str) -> None:
    """Writes to this process's own output, keeps no state, and gives the runs back when asked to stop."""
    check_platform_addresses()
    supervisor = Supervisor(None)
    supervisor.handle_signals()
    try:
        for slot in own_worker_slots(label):
            command = Command(worker_command(slot), environment=child_environment(**slot.environment))
            supervisor.add(process_child(slot.name, command, lambda: True, WORKER_GRACE_SECONDS))
        supervisor.watch()
    except StopSignal:
        pass
    finally:
        supervisor.stop()


def check_platform_addresses() -> None:
    if not settings.DATABASE_URL or not settings.REDIS_URL:
        raise StartError(
            "Workers need the platform's DATABASE_URL and REDIS_URL: set both, or start it all with `make up`."
        )
    check_database(settings.DATABASE_URL)
    check_redis(settings.REDIS_URL)


def has_living_workers() -> bool:
    from experiments.queue.selectors.workers import living_workers

    return living_workers().filter(host=socket.gethostname()).exists()
