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
from typing import IO, TypedDict
from urllib.parse import urlsplit

import psycopg2
import redis
from django.core.management import call_command

from config import env
from config.env import ROOT
from config.home import Home, write_private
from config.processes import (
    Slot,
    core_count,
    environment,
    gpu_count,
    prepare_command,
    scheduler_command,
    slots,
    web_command,
    worker_command,
)
from config.services.postgres import Postgres
from config.services.redis import Redis
from config.services.server import Command
from config.supervisor import Child, StopSignal, Supervisor, clear_leftovers, process_child, say
from workers.errors import SpecError, TributaryError

WORKER_GRACE = 20.0


def step(name: str, outcome: str) -> None:
    say(f"  {name:<12} {outcome}")


@dataclass
class Platform:
    home: Home
    host: str = field(default_factory=env.HOST.read)
    port: int = field(default_factory=env.PORT.read)
    urls: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(self.home)
        self.slots = slots(env.WORKERS.read(), core_count(), gpu_count())

    @property
    def address(self) -> str:
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(
            self.host, f"[{self.host}]" if ":" in self.host else self.host
        )
        return f"http://{shown}:{self.port}"

    def run(self) -> None:
        with lock(self.home):
            check_port(self.host, self.port)
            self.supervisor.listen()
            try:
                self.start()
                self.supervisor.watch()
            except StopSignal:
                say("Stopping web server, workers, scheduler and services ...")
            finally:
                self.supervisor.stop()
            say("Stopped. All data are kept.")

    def start(self) -> None:
        say(f"Tributary starts. Its data are in {self.home.path}")
        if cleared := clear_leftovers(self.home):
            step("Clean-up", f"{cleared} processes of an interrupted start ended")
        self.start_postgres()
        self.start_redis()
        tour = self.prepare()
        self.start_processes()
        self.greet(tour)

    def start_postgres(self) -> None:
        if url := env.DATABASE_URL.read():
            check_database(url)
            return self.use("DATABASE_URL", url, "PostgreSQL", "the one in DATABASE_URL")
        server = Postgres(home=self.home)
        server.choose_port()
        child = Child("postgres", server.start, server.log, farewell=signal.SIGINT, grace=60, url=server.url)
        self.supervisor.add(child)
        return self.use("DATABASE_URL", server.url, "PostgreSQL", "ready")

    def start_redis(self) -> None:
        if url := env.REDIS_URL.read():
            check_redis(url)
            return self.use("REDIS_URL", url, "Redis", "the one in REDIS_URL")
        server = Redis(home=self.home)
        server.choose_port()
        self.supervisor.add(Child("redis", server.start, server.log, url=server.url))
        return self.use("REDIS_URL", server.url, "Redis", "ready")

    def use(self, variable: str, url: str, name: str, outcome: str) -> None:
        self.urls[variable] = url
        step(name, outcome)

    def environment(self, **extra: str) -> dict[str, str]:
        return environment(TRIBUTARY_HOME=str(self.home.path), **self.urls, **extra)

    def prepare(self) -> bool:
        """Migrates, makes the admin and queues the tour, in a process of its own: this one never opens a connection.

        The password is told at once: whatever happens next, it exists now and is stored nowhere.
        """
        done = subprocess.run(prepare_command(), env=self.environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StartError(self.why_unprepared(done.stdout + done.stderr))
        report: Report = json.loads(done.stdout.splitlines()[-1])
        step("Database", "up to date")
        if report["password"]:
            step("Admin", f"log in as admin with the password {report['password']}  (shown this once; keep it)")
        return bool(report["tour"])

    def why_unprepared(self, output: str) -> str:
        write_private(self.home.logs / "prepare.log", output)
        if "Traceback" not in output:
            return output.strip()
        return f"The database could not be prepared: {output.splitlines()[-1]} See {self.home.logs / 'prepare.log'}."

    def start_processes(self) -> None:
        own = [self.web(), *(self.worker(slot) for slot in self.slots), self.scheduler()]
        for child in own:
            self.supervisor.add(child)
        self.supervisor.wait_until_ready("web")
        step("Web server", "ready")
        self.supervisor.wait_until_ready(*(child.name for child in own))
        step("Workers", describe(self.slots))
        step("Scheduler", "ready")

    def web(self) -> Child:
        command = Command(web_command(self.host, self.port), self.home.logs / "web.log", self.environment())
        return process_child("web", command, lambda: answers(self.address), grace=8)

    def worker(self, slot: Slot) -> Child:
        log = self.home.logs / f"{slot.name}.log"
        command = Command(worker_command(slot), log, self.environment(**slot.environment))
        before = log.stat().st_size if log.exists() else 0
        return process_child(slot.name, command, lambda: b" ready." in log.read_bytes()[before:], WORKER_GRACE)

    def scheduler(self) -> Child:
        command = Command(scheduler_command(), self.home.logs / "scheduler.log", self.environment())
        return process_child("scheduler", command, lambda: True)

    def greet(self, tour: bool) -> None:
        say("")
        step("Open", self.address)
        if tour:
            step("Tour", "a small study is queued: watch its curves grow")
        step("Logs", str(self.home.logs))
        step("Stop", "Ctrl-C")


def describe(found: list[Slot]) -> str:
    if not found:
        return "none (WORKERS=0): runs stay queued"
    fast = sum(slot.device != "cpu" for slot in found)
    device = {0: "on CPU", len(found): "on GPU"}.get(fast, f"{fast} on GPU and {len(found) - fast} on CPU")
    threads = f"{found[0].threads} thread{'s' if found[0].threads > 1 else ''} each"
    return f"{len(found)} ready, {device}, {threads}"


class StartError(TributaryError):
    """Something in this machine's or the person's settings keeps the platform from starting."""


def lock(home: Home) -> IO[str]:
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


def check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
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
        place = urlsplit(url).hostname
        raise StartError(
            f"REDIS_URL does not work: {place} says {error}. Correct it, or unset it to use the embedded one."
        ) from None


class Report(TypedDict):
    """`password` only if it was made just now and the person does not know it yet."""

    password: str | None
    tour: bool


def prepare() -> Report:
    from experiments.access.services.people import ensure_admin
    from experiments.studies.services.tour import ensure_tour

    call_command("migrate", verbosity=0, interactive=False)
    try:
        admin, password = ensure_admin(password=env.ADMIN_PASSWORD.read() or None)
    except SpecError as error:
        reasons = " ".join(problem.message for problem in error.errors)
        raise env.SettingError(f"TRIBUTARY_ADMIN_PASSWORD is refused: {reasons}") from None
    tour = ensure_tour(admin) if env.TOUR.read() else False
    return {"password": password, "tour": bool(tour)}


# A proxy for the outside world must not be asked for this machine's own addresses.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(address: str) -> bool:
    try:
        with DIRECT.open(f"{address}/healthz", timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def run_alone(home: Home, *arguments: str) -> int:
    """Runs `manage.py arguments` beside an embedded PostgreSQL that lives only as long; returns its exit code."""
    with lock(home):
        clear_leftovers(home)
        server = Postgres(home=home)
        server.start()
        try:
            around = environment(TRIBUTARY_HOME=str(home.path), DATABASE_URL=server.url)
            return subprocess.run(
                [sys.executable, str(ROOT / "manage.py"), *arguments], env=around, check=False
            ).returncode
        finally:
            server.stop()
