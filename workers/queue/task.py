"""The Celery side of the queue: claim a run, hand it to the runner, write down what it tells, until none is left."""

from __future__ import annotations

import logging
import shutil
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from celery import shared_task, signals
from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, connection

from experiments.core.database import set_db_timeouts
from experiments.core.errors import StaleLeaseError
from experiments.models import Worker
from experiments.queue.selectors.workers import BEAT_SECONDS
from experiments.queue.services import leases
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, Instructions
from experiments.queue.services.retention import remove_stale_files
from experiments.queue.services.workers import worker_beat, worker_enlist, worker_leave, worker_sample, worker_withdraw
from workers.apps.launcher import app_command, app_environment, app_job
from workers.apps.leftovers import clear_leftovers
from workers.apps.package import AppError
from workers.catalog import plugin_facts
from workers.engine.records import RoundRecord
from workers.home import artifact_folder, checkpoint_folder, home
from workers.memory import allowed_memory
from workers.queue import gauges
from workers.queue.run_log import RunLog
from workers.queue.slot import LimitError, Limits, RunnerDiedError, Slot

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

HEARTBEAT_SECONDS = 1.0
STOP_SECONDS = 10.0
DATABASE_PAUSE_SECONDS = 1.0
LEAVING_PATIENCE_SECONDS = 5.0
CHECKPOINT_ROUNDS = 10
SAMPLE_SECONDS = 15.0
MEMORY_SHARE = 0.9
MIN_FREE_BYTES = 50_000_000
FRESH_SECONDS = 30.0
"""A runner of at most this age has read the code that is there; only a file it found changed makes it older."""


class WorkerProcess:
    """One worker process: its row in the database, its runner, and whether it was asked to leave."""

    def __init__(self, name: str, device: str, threads: int) -> None:
        self.name = name
        self.slot = Slot(device=device, threads=threads)
        self.worker: Worker | None = None
        self.leaving = Event()
        self.closed = Event()
        self.round_rate = RoundRate()
        self.gauge = gauges.Gauge(device, threads)
        self.next_sample = time.monotonic() + SAMPLE_SECONDS
        # Enlisting gives up whatever this name held: a second one must not follow a first.
        self.heartbeat_lock = Lock()

    def start(self) -> None:
        self.slot.warm()
        self.send_heartbeat()
        Thread(target=self.send_heartbeats, daemon=True).start()

    def send_heartbeats(self) -> None:
        while not self.closed.wait(BEAT_SECONDS):
            self.send_heartbeat()
            self.store_sample()
            connection.close()

    def send_heartbeat(self) -> None:
        try:
            with self.heartbeat_lock:
                if self.worker and worker_beat(worker=self.worker, rounds_per_second=self.round_rate.per_second):
                    return
                self.worker = worker_enlist(
                    name=self.name,
                    host=socket.gethostname(),
                    device=self.slot.device,
                    threads=self.slot.threads,
                    facts=gauges.slot_facts(self.slot.device) | plugin_facts(),
                )
        except Error as error:
            connection.close()
            logger.warning("No heartbeat, the database does not answer: %s", error)

    def store_sample(self) -> None:
        if self.worker is None or time.monotonic() < self.next_sample:
            return
        self.next_sample = time.monotonic() + SAMPLE_SECONDS
        try:
            reading = asdict(self.gauge.read(self.slot.pid))
            worker_sample(worker=self.worker, rounds_per_second=self.round_rate.per_second, **reading)
        except Error as error:
            connection.close()
            logger.warning("What this worker uses was not stored: %s", error)

    def work(self) -> int:
        """Claims and computes runs until the queue is empty or this worker shall leave; returns how many."""
        self.send_heartbeat()
        attempts = 0
        while (
            self.worker and not self.leaving.is_set() and has_disk_space() and (claim := run_claim(worker=self.worker))
        ):
            RunAttempt(self, claim).run()
            attempts += 1
            # A runner that died is replaced while nobody waits for it.
            if not self.leaving.is_set():
                self.slot.warm()
        return attempts

    def withdraw(self, reason: str) -> None:
        """Its device is broken: runs are for others until it is mended and an admin resumes it, or it starts anew."""
        logger.error("No further run is taken. %s", reason)
        if self.worker:
            worker_withdraw(worker=self.worker, reason=reason)

    def leave(self) -> None:
        self.closed.set()
        self.slot.close()
        if self.worker:
            worker_leave(worker=self.worker)


class RunAttempt:
    """One attempt at a run, from its claim to its end."""

    def __init__(self, process: WorkerProcess, claim: Claim) -> None:
        self.process, self.claim, self.slot = process, claim, process.slot
        self.is_app = "app" in claim.spec
        self.next_beat = 0.0
        self.stop_deadline: float | None = None
        self.renewed = False

    def run(self) -> None:
        """However it ends, the runner is idle or dead afterwards; of an app's process nothing is left."""
        try:
            self.run_to_end()
        except StaleLeaseError as error:
            logger.warning("Run %s: %s", self.claim.run, error)
            self.slot.kill()
            remove_stale_files(self.claim)
        finally:
            if self.is_app:
                if self.slot is not self.process.slot:
                    self.slot.kill()
                    self.slot.close()
                clear_leftovers(self.claim.token.hex)

    def run_to_end(self) -> None:
        try:
            with RunLog(self.claim.run) as log:
                log.write(f"Attempt {self.claim.attempt} on {self.process.name}")
                self.follow_runner(log)
        except StaleLeaseError:
            raise
        except (LimitError, AppError) as error:
            self.end(leases.run_fail, reason=str(error))
        except RunnerDiedError as error:
            self.end(leases.run_crash, reason=str(error))
        except Exception as error:
            logger.exception("Run %s could not be followed", self.claim.run)
            self.slot.kill()
            self.end(leases.run_crash, reason=f"{type(error).__name__}: {error}")

    def follow_runner(self, log: RunLog) -> None:
        self.start_job(log)
        while not self.store_events(self.slot.poll(HEARTBEAT_SECONDS), log):
            if time.monotonic() >= self.next_beat:
                self.obey(self.write(lambda: leases.run_heartbeat(claim=self.claim)))
            if self.stop_deadline is not None and time.monotonic() > self.stop_deadline:
                self.slot.kill()
                self.end(leases.run_release, reason="It did not stop in time and was ended.")
                return

    def start_job(self, log: RunLog) -> None:
        if self.is_app:
            self.start_app(log)
        else:
            self.slot.start(self.make_job(), limits=run_limits(), log=log.write)

    def start_app(self, log: RunLog) -> None:
        """In a process of its own, with the interpreter and the environment of the app; the warm runner waits."""
        package, app = app_job(self.claim.spec, self.claim.sources["versions"]["app"])
        self.slot = Slot(
            device=self.process.slot.device,
            threads=self.process.slot.threads,
            command=app_command(package),
            environment=app_environment(self.claim.token.hex, self.process.slot.device),
        )
        job = self.make_job()
        limits = replace(run_limits(), folder=Path(job["artifacts"]), files=settings.RUN_FILES * 1_000_000 or None)
        log.write(f"{package.name} {package.version} ({package.hash[:12]})")
        self.slot.start({**job, "app": app}, limits=limits, log=log.write)

    def make_job(self) -> dict[str, Any]:
        return {
            "run": self.claim.run,
            "spec": dict(self.claim.spec),
            "launched": {"hash": self.claim.hash, "sources": dict(self.claim.sources)},
            "engine": self.claim.engine,
            "checkpoint": {
                "folder": str(checkpoint_folder(self.claim.run)),
                "token": self.claim.token.hex,
                "every": 1 if settings.CHECKPOINT_SECONDS else CHECKPOINT_ROUNDS,
                "seconds": settings.CHECKPOINT_SECONDS,
                "resume": list(self.claim.resume),
            },
            "artifacts": str(artifact_folder(self.claim.run, self.claim.token)),
        }

    def store_events(self, events: Iterable[dict[str, Any]], log: RunLog) -> bool:
        """Writes the events down, rounds that came together in one transaction; True once the attempt has ended."""
        rounds: list[RoundRecord] = []
        for event in events:
            if event["event"] == "round":
                rounds.append(round_record(event))
                continue
            self.store_rounds(rounds)
            rounds = []
            if self.store_event(event, log):
                return True
        self.store_rounds(rounds)
        return False

    def store_rounds(self, rounds: list[RoundRecord]) -> None:
        if rounds:
            self.process.round_rate.add(len(rounds))
            self.obey(self.write(lambda: leases.rounds_record(claim=self.claim, records=rounds)))

    def store_event(self, event: dict[str, Any], log: RunLog) -> bool:
        match event["event"]:
            case "started":
                choice = {"engine": event["engine"], "device_type": event["device"]}
                self.write(lambda: leases.start_record(claim=self.claim, **choice))
            case "checkpoint":
                path, number = event["path"], event["round"]
                self.write(lambda: leases.checkpoint_record(claim=self.claim, path=path, round_number=number))
            case "unsaved":
                logger.warning("Run %s goes on without it: %s", self.claim.run, event["reason"])
            case "done":
                artifact = str(Path(event["artifact"]).relative_to(home())) if event["artifact"] else ""
                results = {"provenance": event["provenance"], "findings": event["findings"]}
                self.end(leases.run_finish, artifact=artifact, **results)
                shutil.rmtree(checkpoint_folder(self.claim.run), ignore_errors=True)
                return True
            case "stopped":
                self.end(leases.run_release)
                return True
            case "failed":
                log.write(event["trace"].rstrip())
                self.end(leases.run_fail, reason=event["reason"])
                return True
            case "changed":
                return self.handle_change(event, log)
            case "accelerator":
                return self.handle_accelerator_error(event, log)
        return False

    def handle_change(self, event: dict[str, Any], log: RunLog) -> bool:
        """The run would be computed under an identity that is not its own. A warm runner may hold older code than the

        one who launched it: once in an attempt another one is asked, unless that cannot help. True where it ended.
        """
        log.write(event["reason"])
        may_help = event["outdated"] or (event["code"] and self.slot.age > FRESH_SECONDS)
        if self.renewed or not may_help:
            self.end(leases.run_fail, reason=event["reason"])
            return True
        log.write("The code is read anew, by another process.")
        self.restart_job(log)
        return False

    def restart_job(self, log: RunLog) -> None:
        self.renewed = True
        self.slot.renew()
        self.start_job(log)
        if self.stop_deadline is not None:
            self.slot.stop()

    def handle_accelerator_error(self, event: dict[str, Any], log: RunLog) -> bool:
        """The runner leaves: in its process no run would end well any more. True where the attempt ended.

        In the middle of a run another worker of that kind tries next, from the last checkpoint. A device that cannot
        even begin, in a second process too, is broken: the run goes back uncounted, and the worker takes no other.
        """
        log.write(event["trace"].rstrip() or event["reason"])
        if event["begun"]:
            self.slot.close()
            self.end(leases.run_lose_device, reason=event["reason"])
        elif self.renewed:
            self.slot.close()
            self.write(lambda: self.process.withdraw(event["reason"]))
            self.end(leases.run_release, reason=event["reason"])
        else:
            self.restart_job(log)
            return False
        return True

    def obey(self, instructions: Instructions) -> None:
        self.next_beat = time.monotonic() + HEARTBEAT_SECONDS
        if self.stop_deadline is None and (instructions.cancel or instructions.drain or self.process.leaving.is_set()):
            self.stop_deadline = time.monotonic() + STOP_SECONDS
            self.slot.stop()

    def end(self, service: Callable[..., None], **facts: Any) -> None:
        self.write(lambda: service(claim=self.claim, **facts))

    def write(self, service: Callable[[], Answer]) -> Answer:
        """Outlasts a database that is away: writes may be repeated safely, and the token tells if it took too long."""
        deadline = time.monotonic() + LEAVING_PATIENCE_SECONDS
        while True:
            try:
                return service()
            except (OperationalError, InterfaceError) as error:
                connection.close()
                if self.process.leaving.is_set() and time.monotonic() > deadline:
                    raise StaleLeaseError from error
                logger.warning("The database does not answer, trying again: %s", error)
                time.sleep(DATABASE_PAUSE_SECONDS)


def run_limits() -> Limits:
    """As the lab set them; 0 is none. A run that took all memory would take its neighbours with it."""
    share = int(allowed_memory() * MEMORY_SHARE)
    memory = share if settings.RUN_MEMORY is None else settings.RUN_MEMORY * 1_000_000
    return Limits(memory or None, settings.RUN_SECONDS or None, settings.RUN_SILENCE or None)


def has_disk_space() -> bool:
    """On a full disk run after run would fail, and in a moment the whole queue."""
    folder = home() / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        logger.warning("No run is taken: only %.0f MB are left in %s.", free / 1e6, folder)
    return free >= MIN_FREE_BYTES


def round_record(event: dict[str, Any]) -> RoundRecord:
    clients = {int(client): numbers for client, numbers in event["clients"].items()}
    return RoundRecord(event["round"], event["metrics"], tuple(event["cohort"]), clients)


worker_processes: list[WorkerProcess] = []


@shared_task(name="workers.queue.task.work", ignore_result=True)
def work() -> int:
    try:
        return sum(process.work() for process in worker_processes)
    except OperationalError as error:
        logger.warning("No work, the database does not answer: %s", error)
        return 0


@signals.worker_ready.connect
def start_worker(sender: Any, **_: Any) -> None:
    set_db_timeouts()
    connection.close()
    process = WorkerProcess(sender.hostname, settings.WORKER_DEVICE, settings.WORKER_THREADS)
    worker_processes.append(process)
    process.start()


@signals.worker_shutting_down.connect
def announce_shutdown(**_: Any) -> None:
    """Runs in the middle of whatever the process does: it only sets a flag, which the next heartbeat obeys."""
    for process in worker_processes:
        process.leaving.set()


@signals.worker_shutdown.connect
def stop_worker(**_: Any) -> None:
    for process in worker_processes:
        process.leave()


RATE_SECONDS = 10.0


class RoundRate:
    """Rounds per second over the last seconds."""

    def __init__(self) -> None:
        self.rounds: deque[float] = deque(maxlen=10_000)

    def add(self, rounds: int) -> None:
        self.rounds.extend([time.monotonic()] * rounds)

    @property
    def per_second(self) -> float:
        since = time.monotonic() - RATE_SECONDS
        return sum(1 for moment in self.rounds.copy() if moment > since) / RATE_SECONDS
