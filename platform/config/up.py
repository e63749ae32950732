"""`manage.py up`: everything from nothing, a line a step; what must hold before, and what the database needs first."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypedDict
from urllib.parse import urlsplit

import psycopg2
import redis
from django.core.management import call_command

from config import env
from config.agent import agent_child, agent_folder
from config.env import ROOT
from config.home import Home, write_private
from config.processes import (
    WorkerSlot,
    child_environment,
    housekeeping_command,
    own_worker_slots,
    prepare_command,
    scheduler_command,
    worker_command,
)
from config.services.postgres import Postgres
from config.services.redis import Redis
from config.services.server import Command
from config.supervisor import Child, StopSignal, Supervisor, clear_leftovers, print_line, process_child
from config.web_host import open_port, web_children
from workers.errors import SpecError, TributaryError
from workers.store.store import remote_store

WORKER_GRACE_SECONDS = 20.0


def print_step(name: str, outcome: str) -> None:
    print_line(f"  {name:<12} {outcome}")


@dataclass
class Platform:
    home: Home
    host: str = field(default_factory=env.HOST.read)
    port: int = field(default_factory=env.PORT.read)
    urls: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(self.home)
        self.slots = own_worker_slots()

    @property
    def address(self) -> str:
        return env.local_address(self.host, self.port)

    def run(self) -> None:
        with (
            lock_home(self.home),
            reserve_address(self.host, self.port) as listening,
            agent_folder() as folder,
        ):
            self.supervisor.handle_signals()
            try:
                self.start(listening, folder)
                self.supervisor.watch()
            except StopSignal:
                print_line("Stopping web server, workers, housekeeping, scheduler and services ...")
            finally:
                self.supervisor.stop()
            print_line("Stopped. All data are kept.")

    def start(self, listening: socket.socket, folder: Path) -> None:
        print_line(f"Tributary starts. Its data are in {self.home.path}")
        if cleared := clear_leftovers(self.home):
            print_step("Clean-up", f"{cleared} processes of an interrupted start ended")
        self.start_postgres()
        self.start_redis()
        tour = self.prepare()
        self.start_processes(listening, folder)
        self.print_welcome(tour)

    def start_postgres(self) -> None:
        if url := env.DATABASE_URL.read():
            check_database(url)
            return self.use_service("DATABASE_URL", url, "PostgreSQL", "the one in DATABASE_URL")
        server = Postgres(
            home=self.home, listen=env.POSTGRES_LISTEN.read(), connections=env.POSTGRES_CONNECTIONS.read()
        )
        child = Child(
            "postgres",
            server.start,
            server.log,
            stop_signal=signal.SIGINT,
            grace_seconds=60,
            address=server.address,
        )
        self.supervisor.add(child)
        return self.use_service("DATABASE_URL", server.url, "PostgreSQL", "ready")

    def start_redis(self) -> None:
        if url := env.REDIS_URL.read():
            check_redis(url)
            return self.use_service("REDIS_URL", url, "Redis", "the one in REDIS_URL")
        server = Redis(home=self.home, listen=env.REDIS_LISTEN.read())
        self.supervisor.add(Child("redis", server.start, server.log, address=server.address))
        return self.use_service("REDIS_URL", server.url, "Redis", "ready")

    def use_service(self, variable: str, url: str, name: str, outcome: str) -> None:
        self.urls[variable] = url
        print_step(name, outcome)

    def environment(self, **extra: str) -> dict[str, str]:
        return child_environment(TRIBUTARY_HOME=str(self.home.path), **self.urls, **extra)

    def prepare(self) -> bool:
        """Migrates, makes the admin and queues the tour, in a process of its own: this one never opens a connection.

        The password is told at once: whatever happens next, it exists now and is stored nowhere.
        """
        process = subprocess.run(prepare_command(), env=self.environment(), capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise StartError(self.preparation_problem(process.stdout + process.stderr))
        report: PreparationReport = json.loads(process.stdout.splitlines()[-1])
        print_step("Database", "up to date")
        if report["password"]:
            print_step("Admin", f"log in as admin with the password {report['password']}  (shown this once; keep it)")
        return bool(report["tour"])

    def preparation_problem(self, output: str) -> str:
        write_private(self.home.logs / "prepare.log", output)
        if "Traceback" not in output:
            return output.strip()
        return f"The database could not be prepared: {output.splitlines()[-1]} See {self.home.logs / 'prepare.log'}."

    def start_processes(self, listening: socket.socket, folder: Path) -> None:
        """Workers are many at once: the first sign of each is to find the agent there."""
        web = self.make_web(listening)
        agent = agent_child(folder, len(self.slots), self.environment(), self.home.logs / "agent.log")
        for child in [*web, *([agent] if agent else [])]:
            self.supervisor.add(child)
        if agent:
            self.supervisor.wait_until_ready(agent.name)
        workers = [self.make_worker(slot, agent.address if agent else "") for slot in self.slots]
        children = [*workers, self.make_housekeeping(), self.make_scheduler()]
        for child in children:
            self.supervisor.add(child)
        self.supervisor.wait_until_ready(*(child.name for child in web))
        print_step("Web server", "ready" if len(web) == 1 else f"{len(web)} processes ready")
        self.supervisor.wait_until_ready(*(child.name for child in children))
        print_step("Workers", describe_workers(self.slots))
        print_step("Scheduler", "ready, and housekeeping beside it")

    def make_web(self, listening: socket.socket) -> list[Child]:
        return web_children(
            listening,
            self.home,
            self.environment(),
            lambda name: self.home.logs / f"{name}.log",
            lambda: web_answers(self.address),
        )

    def make_worker(self, slot: WorkerSlot, agent: str) -> Child:
        return self.make_celery(slot.name, worker_command(slot), **slot.environment, TRIBUTARY_AGENT=agent)

    def make_housekeeping(self) -> Child:
        return self.make_celery("housekeeping", housekeeping_command())

    def make_celery(self, name: str, arguments: list[str], **extra: str) -> Child:
        log = self.home.logs / f"{name}.log"
        command = Command(arguments, log, self.environment(**extra))
        before = log.stat().st_size if log.exists() else 0
        return process_child(name, command, lambda: b" ready." in log.read_bytes()[before:], WORKER_GRACE_SECONDS)

    def make_scheduler(self) -> Child:
        command = Command(scheduler_command(), self.home.logs / "scheduler.log", self.environment())
        return process_child("scheduler", command, lambda: True)

    def print_welcome(self, tour: bool) -> None:
        print_line("")
        print_step("Open", self.address)
        if tour:
            print_step("Tour", "a small study is queued: watch its curves grow")
        print_step("Logs", str(self.home.logs))
        print_step("Stop", "Ctrl-C")


def describe_workers(slots: list[WorkerSlot]) -> str:
    if not slots:
        return "none (WORKERS=0): runs stay queued"
    fast = sum(slot.device != "cpu" for slot in slots)
    device = {0: "on CPU", len(slots): "on GPU"}.get(fast, f"{fast} on GPU and {len(slots) - fast} on CPU")
    threads = f"{slots[0].threads} thread{'s' if slots[0].threads > 1 else ''} each"
    return f"{len(slots)} ready, {device}, {threads}"


class StartError(TributaryError):
    """Something in this machine's or the person's settings keeps the platform from starting."""


def lock_home(home: Home) -> IO[str]:
    """Held open as long as the platform runs on this home; the kernel frees it even after kill -9."""
    home.make()
    file = home.lock.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise StartError(
            f"Tributary already runs on {home.path} ({holder}): stop it there, or set TRIBUTARY_HOME to another folder."
        ) from None
    file.truncate(0)
    file.write(f"process {os.getpid()}")
    file.flush()
    return file


def reserve_address(host: str, port: int) -> socket.socket:
    try:
        return open_port(host, port)
    except OSError as error:
        raise StartError(port_problem(host, port, error)) from None


def port_problem(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is taken: stop what uses it, or choose another, as in `PORT={port + 1} make up`."
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for root: choose one above 1023, as in `PORT=8000 make up`."
    return f"HOST={host} is not an address of this machine ({error.strerror}): use 127.0.0.1 or 0.0.0.0."


def check_database(url: str) -> None:
    try:
        psycopg2.connect(url, connect_timeout=5).close()
    except psycopg2.Error as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[-1]
        raise StartError(
            f"DATABASE_URL does not work: {reason}. Correct it, or unset it to use the embedded one."
        ) from None


def check_redis(url: str) -> None:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except redis.RedisError as error:
        parts = urlsplit(url)
        place = parts.hostname or parts.path
        raise StartError(
            f"REDIS_URL does not work: {place} says {error}. Correct it, or unset it to use the embedded one."
        ) from None


class PreparationReport(TypedDict):
    """`password` only if it was made just now and the person does not know it yet."""

    password: str | None
    tour: bool


def prepare_database() -> PreparationReport:
    """And the home, which an earlier Tributary or a person's hand may have left open to other accounts."""
    from experiments.access.services.people import ensure_admin
    from experiments.operations.store import checkpoints_make_relative
    from experiments.queue.services.rehash import queued_runs_rehash
    from experiments.studies.services.tour import ensure_tour

    call_command("migrate", verbosity=0, interactive=False)
    queued_runs_rehash()
    checkpoints_make_relative(env.HOME.read())
    found_store()
    try:
        admin, password = ensure_admin(password=env.ADMIN_PASSWORD.read() or None)
    except SpecError as error:
        reasons = " ".join(problem.message for problem in error.errors)
        raise env.SettingError(f"TRIBUTARY_ADMIN_PASSWORD is refused: {reasons}") from None
    tour = ensure_tour(admin) if env.TOUR.read() else False
    Home(env.HOME.read()).close_to_others()
    return {"password": password, "tour": bool(tour)}


def found_store() -> None:
    """Only here: a worker that finds no store where it was told to look has been told wrong."""
    if store := remote_store():
        store.create()


# A proxy for the outside world must not be asked for this machine's own addresses.
DIRECT_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def web_answers(address: str) -> bool:
    try:
        with DIRECT_OPENER.open(f"{address}/healthz", timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def run_with_postgres(home: Home, *arguments: str) -> int:
    """Runs `manage.py arguments` beside an embedded PostgreSQL that lives only as long; returns its exit code."""
    with lock_home(home):
        clear_leftovers(home)
        server = Postgres(home=home)
        server.start()
        try:
            environ = child_environment(TRIBUTARY_HOME=str(home.path), DATABASE_URL=server.url)
            return subprocess.run(
                [sys.executable, str(ROOT / "manage.py"), *arguments], env=environ, check=False
            ).returncode
        finally:
            server.stop()
