"""`manage.py workers`: only workers, for a further machine or a container; they find the platform by its addresses."""

from __future__ import annotations

import socket

from django.conf import settings

from config import env
from config.processes import core_count, environment, gpu_count, slots, worker_command
from config.services.server import Command
from config.supervisor import StopSignal, Supervisor, process_child
from config.up import StartError, check_database, check_redis

GRACE = 20.0


def run(label: str) -> None:
    """Writes to this process's own output, keeps no state, and gives the runs back when asked to stop."""
    check_addresses()
    supervisor = Supervisor(None)
    supervisor.listen()
    try:
        for slot in slots(env.WORKERS.read(), core_count(), gpu_count(), label):
            command = Command(worker_command(slot), environment=environment(**slot.environment))
            supervisor.add(process_child(slot.name, command, lambda: True, GRACE))
        supervisor.watch()
    except StopSignal:
        pass
    finally:
        supervisor.stop()


def check_addresses() -> None:
    if not settings.DATABASE_URL or not settings.REDIS_URL:
        raise StartError(
            "Workers need the platform's DATABASE_URL and REDIS_URL: set both, or start it all with `make up`."
        )
    check_database(settings.DATABASE_URL)
    check_redis(settings.REDIS_URL)


def alive() -> bool:
    from experiments.queue.selectors.workers import living

    return living().filter(host=socket.gethostname()).exists()
