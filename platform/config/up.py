"""`manage.py up`: everything from nothing, a line a step."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import dataclass, field

from config import env
from config.accelerators import core_count, gpu_count
from config.children import Child, process_child
from config.health import answers
from config.home import Home, write_private
from config.leftovers import clear_leftovers
from config.preflight import StartError, check_database, check_port, check_redis, lock
from config.prepare import Report
from config.processes import Slot, environment, prepare_command, scheduler_command, slots, web_command, worker_command
from config.services.postgres import Postgres
from config.services.redis import Redis
from config.services.spawn import Command
from config.supervisor import StopSignal, Supervisor, say

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
