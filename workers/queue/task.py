"""The Celery side of the queue: claim a run, hand it to the runner, write down what it tells, until none is left."""

from __future__ import annotations

import logging
import shutil
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from celery import shared_task, signals
from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, connection

from experiments.core.database import bound_transactions
from experiments.core.errors import StaleLeaseError
from experiments.models import Worker
from experiments.queue.selectors.workers import BEAT_SECONDS
from experiments.queue.services import leases, workers
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, Wishes
from experiments.queue.services.retention import remove_stale_files
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
CHECKPOINT_EVERY = 10
SAMPLE_SECONDS = 15.0
MEMORY_SHARE = 0.9
ROOM_BYTES = 50_000_000


class Agent:
    """One worker process: its row in the database, its runner, and whether it was asked to leave."""

    def __init__(self, name: str, device: str, threads: int) -> None:
        self.name = name
        self.slot = Slot(device=device, threads=threads)
        self.worker: Worker | None = None
        self.leaving = Event()
        self.gone = Event()
        self.pace = Pace()
        self.gauge = gauges.Gauge(device, threads)
        self.next_sample = time.monotonic() + SAMPLE_SECONDS
        # Enlisting gives up whatever this name held: a second one must not follow a first.
        self.beating = Lock()

    def start(self) -> None:
        self.slot.warm()
        self.beat()
        Thread(target=self.keep_beating, daemon=True).start()

    def keep_beating(self) -> None:
        while not self.gone.wait(BEAT_SECONDS):
            self.beat()
            self.sample()
            connection.close()

    def beat(self) -> None:
        try:
            with self.beating:
                if self.worker and workers.worker_beat(worker=self.worker, rounds_per_second=self.pace.per_second):
                    return
                self.worker = workers.worker_enlist(
                    name=self.name,
                    host=socket.gethostname(),
                    device=self.slot.device,
                    threads=self.slot.threads,
                    facts=gauges.facts(self.slot.device) | plugin_facts(),
                )
        except Error as error:
            connection.close()
            logger.warning("No heartbeat, the database does not answer: %s", error)

    def sample(self) -> None:
        if self.worker is None or time.monotonic() < self.next_sample:
            return
        self.next_sample = time.monotonic() + SAMPLE_SECONDS
        try:
            used = asdict(self.gauge.read(self.slot.pid))
            workers.worker_sample(worker=self.worker, rounds_per_second=self.pace.per_second, **used)
        except Error as error:
            connection.close()
            logger.warning("What this worker uses was not stored: %s", error)

    def work(self) -> int:
        """Runs claimed and driven until the queue is empty or this worker shall leave."""
        self.beat()
        driven = 0
        while self.worker and not self.leaving.is_set() and has_room() and (claim := run_claim(worker=self.worker)):
            Drive(self, claim).run()
            driven += 1
            # A runner that died is replaced while nobody waits for it.
            if not self.leaving.is_set():
                self.slot.warm()
        return driven

    def leave(self) -> None:
        self.gone.set()
        self.slot.close()
        if self.worker:
            workers.worker_leave(worker=self.worker)


class Drive:
    """One attempt at a run, from its claim to its end."""

    def __init__(self, agent: Agent, claim: Claim) -> None:
        self.agent, self.claim, self.slot = agent, claim, agent.slot
        self.next_beat = 0.0
        self.stop_until: float | None = None

    def run(self) -> None:
        """However it ends, the runner is idle or dead afterwards."""
        try:
            self.attempt()
        except StaleLeaseError as error:
            logger.warning("Run %s: %s", self.claim.run, error)
            self.slot.kill()
            remove_stale_files(self.claim)

    def attempt(self) -> None:
        try:
            with RunLog(self.claim.run) as log:
                log.write(f"Attempt {self.claim.attempt} on {self.agent.name}")
                self.follow(log)
        except StaleLeaseError:
            raise
        except LimitError as error:
            self.end(leases.run_fail, reason=str(error))
        except RunnerDiedError as error:
            self.end(leases.run_crash, reason=str(error))
        except Exception as error:
            logger.exception("Run %s could not be followed", self.claim.run)
            self.slot.kill()
            self.end(leases.run_crash, reason=f"{type(error).__name__}: {error}")

    def follow(self, log: RunLog) -> None:
        self.slot.start(self.job(), limits=limits(), log=log.write)
        while not self.settle(self.slot.poll(HEARTBEAT_SECONDS), log):
            if time.monotonic() >= self.next_beat:
                self.heed(self.save(lambda: leases.run_heartbeat(claim=self.claim)))
            if self.stop_until is not None and time.monotonic() > self.stop_until:
                self.slot.kill()
                self.end(leases.run_release, reason="It did not stop in time and was ended.")
                return

    def job(self) -> dict[str, Any]:
        return {
            "run": self.claim.run,
            "spec": dict(self.claim.spec),
            "engine": self.claim.engine,
            "checkpoint": {
                "folder": str(checkpoint_folder(self.claim.run)),
                "token": self.claim.token.hex,
                "every": CHECKPOINT_EVERY,
                "resume": list(self.claim.resume),
            },
            "artifacts": str(artifact_folder(self.claim.run, self.claim.token)),
        }

    def settle(self, events: Iterable[dict[str, Any]], log: RunLog) -> bool:
        """Writes the events down, rounds that came together in one transaction; True once the attempt has ended."""
        rounds: list[RoundRecord] = []
        for event in events:
            if event["event"] == "round":
                rounds.append(record_of(event))
                continue
            self.record(rounds)
            rounds = []
            if self.settle_one(event, log):
                return True
        self.record(rounds)
        return False

    def record(self, rounds: list[RoundRecord]) -> None:
        if rounds:
            self.agent.pace.note(len(rounds))
            self.heed(self.save(lambda: leases.rounds_record(claim=self.claim, records=rounds)))

    def settle_one(self, event: dict[str, Any], log: RunLog) -> bool:
        match event["event"]:
            case "started":
                self.save(lambda: leases.engine_record(claim=self.claim, engine=event["engine"]))
            case "checkpoint":
                path, number = event["path"], event["round"]
                self.save(lambda: leases.checkpoint_record(claim=self.claim, path=path, round_number=number))
            case "unsaved":
                logger.warning("Run %s goes on without it: %s", self.claim.run, event["reason"])
            case "done":
                artifact = str(Path(event["artifact"]).relative_to(home()))
                told = {"provenance": event["provenance"], "findings": event["findings"]}
                self.end(leases.run_finish, artifact=artifact, **told)
                shutil.rmtree(checkpoint_folder(self.claim.run), ignore_errors=True)
                return True
            case "stopped":
                self.end(leases.run_release)
                return True
            case "failed":
                log.write(event["trace"].rstrip())
                self.end(leases.run_fail, reason=event["reason"])
                return True
        return False

    def heed(self, wishes: Wishes) -> None:
        self.next_beat = time.monotonic() + HEARTBEAT_SECONDS
        if self.stop_until is None and (wishes.cancel or wishes.drain or self.agent.leaving.is_set()):
            self.stop_until = time.monotonic() + STOP_SECONDS
            self.slot.stop()

    def end(self, how: Callable[..., None], **facts: Any) -> None:
        self.save(lambda: how(claim=self.claim, **facts))

    def save(self, write: Callable[[], Answer]) -> Answer:
        """Outlasts a database that is away: writes may be repeated safely, and the token tells if it took too long."""
        patience = time.monotonic() + LEAVING_PATIENCE_SECONDS
        while True:
            try:
                return write()
            except (OperationalError, InterfaceError) as error:
                connection.close()
                if self.agent.leaving.is_set() and time.monotonic() > patience:
                    raise StaleLeaseError from error
                logger.warning("The database does not answer, trying again: %s", error)
                time.sleep(DATABASE_PAUSE_SECONDS)


def limits() -> Limits:
    """As the lab set them; 0 is none. A run that took all memory would take its neighbours with it."""
    share = int(allowed_memory() * MEMORY_SHARE)
    memory = share if settings.RUN_MEMORY is None else settings.RUN_MEMORY * 1_000_000
    return Limits(memory or None, settings.RUN_SECONDS or None, settings.RUN_SILENCE or None)


def has_room() -> bool:
    """On a full disk run after run would fail, and in a moment the whole queue."""
    place = home() / "runs"
    place.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(place).free
    if free < ROOM_BYTES:
        logger.warning("No run is taken: only %.0f MB are left in %s.", free / 1e6, place)
    return free >= ROOM_BYTES


def record_of(event: dict[str, Any]) -> RoundRecord:
    clients = {int(client): numbers for client, numbers in event["clients"].items()}
    return RoundRecord(event["round"], event["metrics"], tuple(event["cohort"]), clients)


agents: list[Agent] = []


@shared_task(name="workers.queue.task.work", ignore_result=True)
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


PACE_SECONDS = 10.0


class Pace:
    """Rounds per second over the last seconds."""

    def __init__(self) -> None:
        self.rounds: deque[float] = deque(maxlen=10_000)

    def note(self, rounds: int) -> None:
        self.rounds.extend([time.monotonic()] * rounds)

    @property
    def per_second(self) -> float:
        since = time.monotonic() - PACE_SECONDS
        return sum(1 for moment in self.rounds.copy() if moment > since) / PACE_SECONDS
