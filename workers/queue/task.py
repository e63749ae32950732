"""The Celery side of the queue: claim a run, hand it to the runner, write down what it tells, until none is left.

While a short run is at work its worker claims those that it will go straight on with (`WorkerProcess.ahead`). The
runner has one job at a time, and gets the next the moment the one before has ended, before that end is written down.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from celery import shared_task, signals
from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, connection

from experiments.core.database import set_db_timeouts
from experiments.core.errors import StaleLeaseError
from experiments.models import Worker
from experiments.queue.selectors.workers import BEAT_SECONDS, SLURM_JOB
from experiments.queue.services import leases
from experiments.queue.services.claim import run_claim, runs_claim_ahead
from experiments.queue.services.host_agent import Calls, host_perform
from experiments.queue.services.leases import Claim, Instructions
from experiments.queue.services.retention import remove_ended_attempts, remove_stale_files
from experiments.queue.services.workers import worker_beat, worker_enlist, worker_leave, worker_sample, worker_withdraw
from workers.apps.launcher import app_command, app_environment, app_job
from workers.apps.leftovers import clear_leftovers
from workers.apps.package import AppError
from workers.background import in_background
from workers.catalog import plugin_facts
from workers.engine.records import RoundRecord
from workers.errors import CheckpointError, DatasetError
from workers.home import free_bytes, has_disk_space, home
from workers.memory import allowed_memory
from workers.queue import gauges
from workers.queue.attempt_files import Saved, attempt_files
from workers.queue.computing import UNUSABLE
from workers.queue.inputs import bring_inputs, inputs_are_here
from workers.queue.run_log import RunLog
from workers.queue.slot import LimitError, Limits, RunnerDiedError, Slot
from workers.store.store import StoreAwayError, StoreError, remote_store, store_errors

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

HEARTBEAT_SECONDS = 1.0
WRITE_SECONDS = 0.25
"""Between two transactions of a run that tells of rounds faster than that; its end waits for nothing."""
PACE_RUNS, PACE_STUDIES = 5, 20
AHEAD_SECONDS = 5.0
MOST_AHEAD = 16
AHEAD_PATIENCE_SECONDS = 10.0
"""After so long a run was no short one, and what its worker holds ahead is given back for others."""
STOP_SECONDS = 10.0
STORE_SECONDS, SETTLE_SECONDS = 600.0, 8.0
"""How long the end of a run waits for the store: with its model, or with its last checkpoint."""
STORE_LOOK_SECONDS = 0.05
DATABASE_PAUSE_SECONDS = 1.0
LEAVING_PATIENCE_SECONDS = 5.0
CHECKPOINT_ROUNDS = 10
SAMPLE_SECONDS = 15.0
MEMORY_SHARE = 0.9
LAST_EVENTS = ("done", "stopped", "failed", "changed", "accelerator")
FRESH_SECONDS = 30.0
"""A runner of at most this age has read the code that is there; only a file it found changed makes it older."""


class WorkerProcess:
    """One worker process: its row in the database, its runner, and whether it was asked to leave."""

    def __init__(self, name: str, device: str, threads: int) -> None:
        self.name = name
        self.perform = host_perform(settings.AGENT)
        self.slot = Slot(device=device, threads=threads)
        self.worker: Worker | None = None
        self.leaving = Event()
        self.closed = Event()
        self.round_rate = RoundRate()
        self.pace = StudyPace()
        self.ahead: deque[Claim] = deque()
        self.next_ahead_beat = 0.0
        self.gauge = gauges.Gauge(device, threads)
        self.next_sample = time.monotonic() + SAMPLE_SECONDS
        # Enlisting gives up whatever this name held: a second one must not follow a first.
        self.heartbeat_lock = Lock()
        self.slot_lock = Lock()

    def start(self) -> None:
        self.slot.warm()
        remove_ended_attempts()
        connection.close()
        self.send_heartbeat()
        Thread(target=self.send_heartbeats, daemon=True).start()

    def send_heartbeats(self) -> None:
        while not self.closed.wait(BEAT_SECONDS):
            self.send_heartbeat()
            self.store_sample()
            self.replace_idle_runner()
            connection.close()

    def replace_idle_runner(self) -> None:
        """One that died between two runs is there again before the next run needs it."""
        if self.slot_lock.acquire(blocking=False):
            try:
                if not self.closed.is_set():
                    self.slot.warm()
            finally:
                self.slot_lock.release()

    def send_heartbeat(self) -> None:
        try:
            with self.heartbeat_lock:
                rate = self.round_rate.per_second
                now = {"rounds_per_second": rate, "store_errors": store_errors()}
                if self.worker and self.ask(worker_beat, worker=self.worker, **now):
                    return
                self.worker = self.ask(
                    worker_enlist,
                    name=self.name,
                    host=socket.gethostname(),
                    device=self.slot.device,
                    threads=self.slot.threads,
                    facts=gauges.slot_facts(self.slot.device) | plugin_facts() | slurm_facts(),
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
            rate = self.round_rate.per_second
            self.ask(worker_sample, worker=self.worker, rounds_per_second=rate, **reading)
        except Error as error:
            connection.close()
            logger.warning("What this worker uses was not stored: %s", error)

    def work(self) -> int:
        """Claims and computes runs until the queue is empty or this worker shall leave; returns how many."""
        self.send_heartbeat()
        attempts = 0
        with self.slot_lock:
            try:
                attempt = self.next_attempt()
                while attempt:
                    attempt.run()
                    attempts += 1
                    attempt = attempt.follower or self.next_attempt()
            finally:
                self.release_ahead("Its worker was asked to leave before it began.")
        return attempts

    def next_attempt(self) -> RunAttempt | None:
        if self.leaving.is_set():
            return None
        # A runner that died is replaced while nobody waits for it.
        self.slot.warm()
        if self.ahead:
            return RunAttempt(self, self.ahead.popleft())
        claim = self.ask(run_claim, worker=self.worker) if self.worker and can_save_runs() else None
        return RunAttempt(self, claim) if claim else None

    def claim_ahead(self) -> None:
        """While the runner computes: as many short runs as it will be done with in a few seconds."""
        if self.ahead or self.leaving.is_set() or not self.worker or not can_save_runs():
            return
        worker, most = self.worker, self.pace.runs_ahead()
        self.ahead.extend(self.write(partial(runs_claim_ahead, worker=worker, most=most)))
        self.next_ahead_beat = time.monotonic() + HEARTBEAT_SECONDS

    def keep_ahead(self) -> None:
        """Extends the leases of what is held ahead; what was cancelled or taken away meanwhile is never begun."""
        if not self.ahead or time.monotonic() < self.next_ahead_beat:
            return
        self.next_ahead_beat = time.monotonic() + HEARTBEAT_SECONDS
        instructions = self.write(partial(leases.leases_extend, claims=list(self.ahead)))
        if self.leaving.is_set() or any(each.drain for each in instructions.values()):
            self.release_ahead("Its worker was asked to leave before it began.")
            return
        for claim in tuple(self.ahead):
            if claim.token not in instructions or instructions[claim.token].cancel:
                self.ahead.remove(claim)
                self.release(claim, "")

    def release_ahead(self, reason: str) -> None:
        while self.ahead:
            self.release(self.ahead.popleft(), reason)

    def release(self, claim: Claim, reason: str) -> None:
        """A run that has not begun goes back as it came, or is cancelled where that was asked for."""
        with suppress(StaleLeaseError):
            self.write(partial(leases.run_release, claim=claim, reason=reason))

    def ask(self, service: Callable[..., Answer], **facts: Any) -> Answer:
        """By the agent of this host, where it has one: calls are handed over, and so are `partial`s."""
        answer: Answer = self.perform([partial(service, **facts)])[0]
        return answer

    def write(self, call: Callable[[], Answer]) -> Answer:
        answer: Answer = self.write_together([call])[0]
        return answer

    def write_together(self, calls: Calls) -> list[Any]:
        """Outlasts a database that is away: writes may be repeated safely, and the token tells if it took too long."""
        deadline = time.monotonic() + LEAVING_PATIENCE_SECONDS
        while True:
            try:
                return self.perform(calls)
            except (OperationalError, InterfaceError) as error:
                connection.close()
                if self.leaving.is_set() and time.monotonic() > deadline:
                    raise StaleLeaseError from error
                logger.warning("The database does not answer, trying again: %s", error)
                time.sleep(DATABASE_PAUSE_SECONDS)

    def withdraw(self, reason: str) -> None:
        """Its device is broken: runs are for others until it is mended and an admin resumes it, or it starts anew."""
        logger.error("No further run is taken. %s", reason)
        if self.worker:
            self.write(partial(worker_withdraw, worker=self.worker, reason=reason))

    def leave(self) -> None:
        self.closed.set()
        with self.slot_lock:
            self.slot.close()
        try:
            if self.worker:
                self.ask(worker_leave, worker=self.worker)
        except Error as error:
            connection.close()
            logger.warning(
                "The database does not answer, so that this worker is shown until it counts as silent: %s", error
            )


class RunAttempt:
    """One attempt at a run, from its claim to its end. `follower` is the next, where the runner is at it already."""

    def __init__(self, process: WorkerProcess, claim: Claim) -> None:
        self.process, self.claim, self.slot = process, claim, process.slot
        self.is_app = "app" in claim.spec
        self.files = attempt_files(claim.run, claim.token, claim.attempt)
        self.log = RunLog(claim.run, self.files.log)
        self.resume: list[Path] = []
        self.recorded: Saved | None = None
        self.done = self.hands_on = False
        self.begun = False
        self.begun_at = self.next_beat = self.next_write = 0.0
        self.stop_deadline: float | None = None
        self.renewed = False
        self.runner_ended = False
        self.follower: RunAttempt | None = None

    def run(self) -> None:
        """However it ends, the runner is idle, dead or at the follower then; of an app's process nothing is left."""
        try:
            self.run_to_end()
        except StaleLeaseError as error:
            logger.warning("Run %s: %s", self.claim.run, error)
            if not self.runner_ended:
                self.slot.kill()
            self.files.discard()
            remove_stale_files(self.claim)
            connection.close()
        finally:
            self.log.close()
            self.files.close(done=self.done)
            if not self.runner_ended:
                self.process.release_ahead("Its worker's process ended with the run before it.")
            if self.is_app:
                if self.slot is not self.process.slot:
                    self.slot.kill()
                    self.slot.close()
                clear_leftovers(self.claim.token.hex)

    def run_to_end(self) -> None:
        try:
            self.follow_runner()
        except StaleLeaseError:
            raise
        except (LimitError, AppError, CheckpointError, DatasetError, StoreError) as error:
            self.end(leases.run_fail, reason=str(error))
        except RunnerDiedError as error:
            self.end(leases.run_crash, reason=str(error))
        except Exception as error:
            logger.exception("Run %s could not be followed", self.claim.run)
            if not self.runner_ended:
                self.slot.kill()
            self.end(leases.run_crash, reason=f"{type(error).__name__}: {error}")

    def follow_runner(self) -> None:
        if not self.begun:
            if not self.bring_inputs():
                return
            self.begin()
        self.process.keep_ahead()
        # Nothing waits behind a run that may take its process with it.
        if not self.is_app and self.claim.attempt == 1 and self.process.pace.is_short(self.claim.study):
            self.process.claim_ahead()
        while not self.store_events(self.gather_events()):
            if time.monotonic() >= self.next_beat:
                self.obey(self.write(partial(leases.run_heartbeat, claim=self.claim, running_for=self.running_for)))
            self.process.keep_ahead()
            self.files.keep_log()
            if self.running_for > AHEAD_PATIENCE_SECONDS:
                self.process.release_ahead("The run before it took longer than those before.")
            if self.stop_deadline is not None and time.monotonic() > self.stop_deadline:
                self.slot.kill()
                self.end(leases.run_release, reason="It did not stop in time and was ended.")
                return

    @property
    def running_for(self) -> float:
        return time.monotonic() - self.begun_at

    def bring_inputs(self) -> bool:
        """While the lease is kept; False where the attempt ended meanwhile."""
        self.log.open()
        self.log.write(f"Attempt {self.claim.attempt} on {self.process.name}")
        if inputs_are_here(self.claim):
            self.resume = self.files.resumable(self.claim.resume).paths
            return True
        brought = in_background(partial(bring_inputs, self.claim, self.files))
        try:
            if not self.wait_for_store(brought.done, STORE_SECONDS):
                self.end(leases.run_release, reason="The store did not give in time what the run needs.")
                return False
            resumable = brought.result()
        except StoreAwayError as error:
            self.end(leases.run_release, reason=str(error))
            return False
        if resumable.refusals and not resumable.paths:
            raise CheckpointError("\n".join([UNUSABLE, *resumable.refusals]))
        for refusal in resumable.refusals:
            self.note(refusal)
        self.resume = resumable.paths
        return True

    def note(self, refusal: str) -> None:
        text = f"It goes on from an older checkpoint. {refusal}"
        self.log.write(text)
        self.write(partial(leases.attempt_note, claim=self.claim, text=text))

    def wait_for_store(self, is_done: Callable[[], bool], seconds: float) -> bool:
        """Keeps the leases of this run and of its follower; not as long for a worker that leaves or a cancelled run."""
        deadline = time.monotonic() + seconds
        while not is_done():
            if time.monotonic() > deadline:
                return False
            if time.monotonic() >= self.next_beat:
                self.next_beat = time.monotonic() + HEARTBEAT_SECONDS
                held = [self.claim, *([self.follower.claim] if self.follower else [])]
                instructions = self.write(partial(leases.leases_extend, claims=held)).get(self.claim.token)
                if instructions is None:
                    raise StaleLeaseError
                if instructions.cancel or instructions.drain or self.process.leaving.is_set():
                    self.hands_on = True
                    deadline = min(deadline, time.monotonic() + SETTLE_SECONDS)
            self.process.keep_ahead()
            time.sleep(STORE_LOOK_SECONDS)
        return True

    def begin(self) -> None:
        self.begun_at = time.monotonic()
        self.next_beat, self.next_write = self.begun_at + HEARTBEAT_SECONDS, self.begun_at + WRITE_SECONDS
        self.start_job()
        self.begun = True

    def start_job(self) -> None:
        if self.is_app:
            self.start_app()
        else:
            self.slot.start(self.make_job(), limits=run_limits(), log=self.log.write)

    def gather_events(self) -> list[dict[str, Any]]:
        """What the runner tells, once it does; rounds that are faster than transactions, several at once.

        What a runner told before it died counts.
        """
        events = self.slot.poll(HEARTBEAT_SECONDS)
        while events and not ends_attempt(events) and (pause := self.next_write - time.monotonic()) > 0:
            try:
                events += self.slot.poll(pause)
            except (RunnerDiedError, LimitError):
                self.store_events(events)
                raise
        self.next_write = time.monotonic() + WRITE_SECONDS
        return events

    def start_app(self) -> None:
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
        self.log.write(f"{package.name} {package.version} ({package.hash[:12]})")
        self.slot.start({**job, "app": app}, limits=limits, log=self.log.write)

    def make_job(self) -> dict[str, Any]:
        return {
            "run": self.claim.run,
            "spec": dict(self.claim.spec),
            "launched": {"hash": self.claim.hash, "sources": dict(self.claim.sources)},
            "engine": self.claim.engine,
            "checkpoint": {
                "folder": str(self.files.checkpoints),
                "token": self.claim.token.hex,
                "every": 1 if settings.CHECKPOINT_SECONDS else CHECKPOINT_ROUNDS,
                "seconds": settings.CHECKPOINT_SECONDS,
                "resume": list(map(str, self.resume)),
            },
            "artifacts": str(self.files.artifacts),
        }

    def store_events(self, events: Sequence[dict[str, Any]]) -> bool:
        """Writes the events down, in one transaction; True once the attempt has ended."""
        last = next((each for each in events if each["event"] in LAST_EVENTS), None)
        writes = [*self.progress_writes(events)]
        if last is None or last["event"] in ("changed", "accelerator"):
            self.write_together([*writes, *self.saved_writes()])
            return last is not None and self.handle_trouble(last)
        self.runner_ended = True
        if last["event"] == "failed":
            self.log.write(last["trace"].rstrip())
        if last["event"] != "stopped":
            self.process.pace.add(self.claim.study, self.running_for)
            self.begin_follower()
        if last["event"] == "done":
            self.files.drop_checkpoints()
        if last["event"] == "done" or (self.is_app and last["event"] == "failed"):
            self.files.add_artifacts()
        if not self.files.wait(0):
            self.write_together(writes)
            writes.clear()
            self.settle(STORE_SECONDS if last["event"] == "done" else SETTLE_SECONDS)
        self.write_together([*writes, *self.saved_writes(), self.end_write(last)])
        self.done = last["event"] == "done" and self.files.has_artifacts
        return True

    def settle(self, seconds: float) -> None:
        """Until the store has what this attempt wrote, or for so long."""
        self.wait_for_store(lambda: self.files.wait(0), seconds)

    def begin_follower(self) -> None:
        """The runner goes on at once; if it cannot, the follower begins in its turn."""
        process = self.process
        if self.is_app or self.stop_deadline is not None or process.leaving.is_set() or not process.ahead:
            return
        self.follower = RunAttempt(process, process.ahead.popleft())
        follower = self.follower
        if not follower.is_app and self.slot.pid and inputs_are_here(follower.claim) and follower.bring_inputs():
            with suppress(RunnerDiedError):
                self.follower.begin()

    def progress_writes(self, events: Sequence[dict[str, Any]]) -> Iterator[Callable[[], Instructions | None]]:
        """All rounds at once, and of several checkpoints the last: they are written together or not at all."""
        by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for event in events:
            by_kind[event["event"]].append(event)
        for event in by_kind["unsaved"]:
            logger.warning("Run %s goes on without it: %s", self.claim.run, event["reason"])
        for event in by_kind["started"]:
            choice = {"engine": event["engine"], "device_type": event["device"]}
            yield partial(leases.start_record, claim=self.claim, **choice)
        if by_kind["round"]:
            records = [round_record(event) for event in by_kind["round"]]
            self.process.round_rate.add(len(records))
            yield partial(leases.rounds_record, claim=self.claim, records=records, running_for=self.running_for)
        for event in by_kind["refused"]:
            text = f"It goes on from an older checkpoint. {event['reason']}"
            yield partial(leases.attempt_note, claim=self.claim, text=text)
        for event in by_kind["checkpoint"][-1:]:
            self.files.add_checkpoint(event["round"], Path(event["path"]))

    def saved_writes(self) -> Iterator[Callable[[], None]]:
        """A checkpoint counts once another machine could go on from it."""
        if saved := self.files.take_saved():
            yield partial(leases.checkpoint_record, claim=self.claim, path=saved.key, round_number=saved.round)
            self.recorded = saved

    def end_write(self, event: dict[str, Any]) -> Callable[[], None]:
        match event["event"]:
            case "done" if not self.files.has_artifacts:
                return self.end_without_model()
            case "done":
                artifact = self.files.artifact_key(event["artifact"]) if event["artifact"] else ""
                results = {"provenance": event["provenance"], "findings": event["findings"]}
                return partial(leases.run_finish, claim=self.claim, artifact=artifact, **results)
            case "stopped":
                return partial(leases.run_release, claim=self.claim)
            case _:
                return partial(leases.run_fail, claim=self.claim, reason=event["reason"])

    def end_without_model(self) -> Callable[[], None]:
        """Nobody would find it. A worker that leaves hands the run on; otherwise a person says when to go on."""
        reason = f"The run's files could not be put into the store. {self.files.problem}".rstrip()
        if self.hands_on:
            return partial(leases.run_release, claim=self.claim, reason=reason)
        return partial(leases.run_fail, claim=self.claim, reason=f"{reason} Retry goes on from its last checkpoint.")

    def write_together(self, writes: Sequence[Callable[[], Instructions | None]]) -> None:
        """In one transaction: all of them, or none and `StaleLeaseError`."""
        if not writes:
            return
        answers = self.process.write_together(writes)
        if self.recorded:
            self.files.record(self.recorded)
            self.recorded = None
        for instructions in filter(None, answers):
            self.obey(instructions)

    def handle_trouble(self, event: dict[str, Any]) -> bool:
        return self.handle_change(event) if event["event"] == "changed" else self.handle_accelerator_error(event)

    def handle_change(self, event: dict[str, Any]) -> bool:
        """The run would be computed under an identity that is not its own. A warm runner may hold older code than the

        one who launched it: once in an attempt another one is asked, unless that cannot help. True where it ended.
        """
        self.log.write(event["reason"])
        may_help = event["outdated"] or (event["code"] and self.slot.age > FRESH_SECONDS)
        if self.renewed or not may_help:
            self.runner_ended = True
            self.end(leases.run_fail, reason=event["reason"])
            return True
        self.log.write("The code is read anew, by another process.")
        self.restart_job()
        return False

    def restart_job(self) -> None:
        self.renewed = True
        self.slot.renew()
        self.start_job()
        if self.stop_deadline is not None:
            self.slot.stop()

    def handle_accelerator_error(self, event: dict[str, Any]) -> bool:
        """The runner leaves: in its process no run would end well any more. True where the attempt ended.

        In the middle of a run another worker of that kind tries next, from the last checkpoint. A device that cannot
        even begin, in a second process too, is broken: the run goes back uncounted, and the worker takes no other.
        """
        self.log.write(event["trace"].rstrip() or event["reason"])
        if event["begun"]:
            self.slot.close()
            self.end(leases.run_lose_device, reason=event["reason"])
        elif self.renewed:
            self.slot.close()
            self.process.withdraw(event["reason"])
            self.end(leases.run_release, reason=event["reason"])
        else:
            self.restart_job()
            return False
        return True

    def obey(self, instructions: Instructions) -> None:
        self.next_beat = time.monotonic() + HEARTBEAT_SECONDS
        if self.runner_ended:
            return  # A stop would be for the follower.
        if self.stop_deadline is None and (instructions.cancel or instructions.drain or self.process.leaving.is_set()):
            self.stop_deadline = time.monotonic() + STOP_SECONDS
            self.slot.stop()

    def end(self, service: Callable[..., None], **facts: Any) -> None:
        self.settle(SETTLE_SECONDS)
        self.write_together([*self.saved_writes(), partial(service, claim=self.claim, **facts)])

    def write(self, service: Callable[[], Answer]) -> Answer:
        return self.process.write(service)


def slurm_facts() -> dict[str, str]:
    job = os.environ.get("SLURM_JOB_ID")
    return {SLURM_JOB: job} if job else {}


def run_limits() -> Limits:
    """As the lab set them; 0 is none. A run that took all memory would take its neighbours with it."""
    share = int(allowed_memory() * MEMORY_SHARE)
    memory = share if settings.RUN_MEMORY is None else settings.RUN_MEMORY * 1_000_000
    return Limits(memory or None, settings.RUN_SECONDS or None, settings.RUN_SILENCE or None)


def can_save_runs() -> bool:
    if not has_disk_space():
        logger.warning("No run is taken: only %.0f MB are left in %s.", free_bytes() / 1e6, home())
        return False
    store = remote_store()
    if store and store.away:
        try:
            store.check()
        except StoreError as error:
            logger.warning("No run is taken: %s", error)
            return False
    return True


def ends_attempt(events: Iterable[dict[str, Any]]) -> bool:
    return any(event["event"] in LAST_EVENTS for event in events)


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


class StudyPace:
    """How long the latest runs of each study took here: whether those to come may be claimed ahead, and how many."""

    def __init__(self) -> None:
        self.seconds: dict[int, deque[float]] = {}

    def add(self, study: int, seconds: float) -> None:
        latest = self.seconds.pop(study, deque(maxlen=PACE_RUNS))
        latest.append(seconds)
        self.seconds = dict([*self.seconds.items(), (study, latest)][-PACE_STUDIES:])

    def is_short(self, study: int) -> bool:
        return study in self.runs_ahead()

    def runs_ahead(self) -> dict[int, int]:
        """By study: as many as fit into a few seconds at the pace of the slowest; studies with long runs have none."""
        numbers = {each: int(AHEAD_SECONDS / max(latest)) for each, latest in self.seconds.items()}
        return {study: min(MOST_AHEAD, number) for study, number in numbers.items() if number}


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
