"""The platform's processes against the test database."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from config.home import Home
from config.processes import (
    WorkerSlot,
    child_environment,
    housekeeping_command,
    scheduler_command,
    web_command,
    worker_command,
)
from config.services.server import Command, last_line, port_of, reserve_port, spawn
from django.conf import settings
from django.db import connection

USUAL = ("web", "worker-1", "housekeeping", "scheduler")
LASTING = ("experiments_worker", "django_content_type", "auth_permission")


@dataclass
class LivePlatform:
    """`base_url` answers, a worker listens on the queue `cpu`, the scheduler ticks. Logs are in `home.logs`."""

    home: Home
    base_url: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    """Further environment variables of all processes."""

    @contextmanager
    def run(self) -> Iterator[LivePlatform]:
        """A platform with settings of its own, from nothing to nothing."""
        try:
            self.complete()
            yield self
        finally:
            self.stop()
            self.empty()

    def complete(self) -> None:
        """Starts what is not running, ends what is not of every platform, and waits until the worker is known."""
        # This file is read before Django is set up.
        from experiments.queue.selectors.workers import living_workers

        for name, process in tuple(self.processes.items()):
            if name not in USUAL or process.poll() is not None:
                self.stop(name)
        if "web" not in self.processes:
            self.start_web()
        if "worker-1" not in self.processes:
            self.start_worker()
        if "housekeeping" not in self.processes:
            self.start("housekeeping", housekeeping_command())
        if "scheduler" not in self.processes:
            self.start("scheduler", scheduler_command())
        eventually(lambda: living_workers().exists(), 20)
        connection.close()

    def empty(self) -> None:
        """Every table but the workers', who stay. Numbers go on: the web server remembers specs of runs by theirs."""
        from experiments.models import Run, RunState

        if "worker-1" in self.processes and Run.objects.filter(state=RunState.RUNNING).exists():
            self.stop("worker-1")
        tables = set(connection.introspection.django_table_names(only_existing=True)) - set(LASTING)
        connection.ops.execute_sql_flush([f"TRUNCATE {', '.join(sorted(tables))} CASCADE"])
        shutil.rmtree(self.home.logs.parent / "runs", ignore_errors=True)
        # Later tests may not touch the database, not even to close what is left open.
        connection.close()

    @property
    def environment(self) -> dict[str, str]:
        found = child_environment(
            DATABASE_URL=database_url(connection.settings_dict["NAME"]), REDIS_URL=settings.REDIS_URL, **self.settings
        )
        found.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)
        return found

    def start(self, name: str, arguments: list[str], **extra: str) -> subprocess.Popen[bytes]:
        log = self.home.logs / f"{name}.log"
        log.unlink(missing_ok=True)
        process = spawn(Command(arguments, log, self.environment | extra))
        self.processes[name] = process
        return process

    def start_web(self) -> None:
        """A server that is started again keeps its address."""
        with reserve_port() as holder:
            port = urlsplit(self.base_url).port or port_of(holder)
            self.base_url = f"http://127.0.0.1:{port}"
            self.start("web", web_command("127.0.0.1", port))
            self.wait_for("web", lambda: answers(self.base_url))

    def start_worker(self, number: int = 1, **extra: str) -> subprocess.Popen[bytes]:
        slot = WorkerSlot(number, "cpu", "cpu", 1)
        process = self.start(slot.name, worker_command(slot), **slot.environment, **extra)
        self.wait_for(slot.name, lambda: " ready." in self.log(slot.name))
        return process

    def log(self, name: str) -> str:
        return (self.home.logs / f"{name}.log").read_text(errors="replace")

    def wait_for(self, name: str, ready: Callable[[], bool], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if self.processes[name].poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{name} did not start: {last_line(self.home.logs / f'{name}.log')}")
            time.sleep(0.05)

    def stop(self, *names: str) -> None:
        chosen = [self.processes.pop(name) for name in names or tuple(self.processes)]
        for process in chosen:
            process.terminate()
        for process in chosen:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def database_url(name: str) -> str:
    """Of another database of the tests' server."""
    return urlsplit(settings.DATABASE_URL)._replace(path=f"/{name}").geturl()


def answers(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/healthz", timeout=10).close()
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        return False
    return True


def eventually(true: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "It did not happen."
        time.sleep(0.05)


def pieces_taken(connection: socket.socket, piece: bytes, most: int, pause: float = 0.0) -> int:
    """How many went out before the server closed the connection."""
    for number in range(most):
        try:
            connection.sendall(piece)
        except OSError:
            return number
        time.sleep(pause)
    return most
