"""`manage.py workers`: only workers, for a further machine or a container; they find the platform by its addresses."""

from __future__ import annotations

import os
import signal
import socket
import time
from threading import Thread

from django.conf import settings
from django.db import Error, connection

from config.agent import agent_child, agent_folder
from config.processes import child_environment, own_worker_slots, worker_command
from config.services.server import Command
from config.supervisor import StopSignal, Supervisor, print_line, process_child
from config.up import WORKER_GRACE_SECONDS, StartError, check_database, check_redis
from workers.store.store import StoreError, remote_store

LOOK_SECONDS = 2.0


def run_workers(label: str, idle: int | None = None) -> None:
    """Writes to this process's own output, keeps no state, and gives the runs back when asked to stop.

    With `idle` it also ends by itself after so many seconds without a run.
    """
    check_platform_addresses()
    supervisor = Supervisor(None)
    supervisor.handle_signals()
    slots = own_worker_slots(label)
    with agent_folder() as folder:
        try:
            agent = agent_child(folder, len(slots), child_environment(), None)
            if agent:
                supervisor.add(agent)
                supervisor.wait_until_ready(agent.name)
            extra = {"TRIBUTARY_AGENT": agent.address if agent else ""}
            for slot in slots:
                command = Command(worker_command(slot), environment=child_environment(**slot.environment, **extra))
                supervisor.add(process_child(slot.name, command, lambda: True, WORKER_GRACE_SECONDS))
            if idle is not None:
                names = [f"{slot.name}@{socket.gethostname()}" for slot in slots]
                Thread(target=end_when_idle, args=[names, idle], daemon=True).start()
            supervisor.watch()
        except StopSignal:
            pass
        finally:
            supervisor.stop()


def end_when_idle(names: list[str], seconds: int) -> None:
    """Counts from when all of them are known: a worker imports for a while. A database that is away proves nothing."""
    busy_at = time.monotonic()
    while time.monotonic() - busy_at <= seconds:
        time.sleep(LOOK_SECONDS)
        try:
            if not are_idle(names):
                busy_at = time.monotonic()
        except Error:
            busy_at = time.monotonic()
        connection.close()
    print_line(f"No run for {seconds} s: this is the end.")
    os.kill(os.getpid(), signal.SIGTERM)


def are_idle(names: list[str]) -> bool:
    from experiments.models import Run, RunState, Worker

    known = Worker.objects.filter(name__in=names, rounds_per_second=0).count()
    return known == len(names) and not Run.objects.filter(state=RunState.RUNNING, worker__name__in=names).exists()


def check_platform_addresses() -> None:
    if not settings.DATABASE_URL or not settings.REDIS_URL:
        raise StartError(
            "Workers need the platform's DATABASE_URL and REDIS_URL: set both, or start it all with `make up`."
        )
    check_database(settings.DATABASE_URL)
    check_redis(settings.REDIS_URL)
    check_store()


def check_store() -> None:
    """A machine that looks elsewhere for the lab's files would fail run after run."""
    store = remote_store()
    try:
        if store:
            store.check()
    except StoreError as error:
        raise StartError(str(error)) from None


def has_living_workers() -> bool:
    from experiments.queue.selectors.workers import living_workers

    return living_workers().filter(host=socket.gethostname()).exists()
