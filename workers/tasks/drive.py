"""One attempt at a run: its runner is started, what it tells is written down, what the lab wishes is passed on.

The process that drives owns the lease and never computes: it must not import torch.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from experiments.services import leases
from experiments.services.errors import StaleLeaseError
from experiments.services.files import remove_stale_files
from experiments.services.leases import Claim, Wishes
from workers.engine.records import RoundRecord
from workers.home import artifact_folder, checkpoint_folder, home
from workers.memory import allowed_memory
from workers.pace import Pace
from workers.run_log import RunLog
from workers.slot import LimitError, Limits, RunnerDiedError, Slot

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

HEARTBEAT_SECONDS = 1.0
STOP_SECONDS = 10.0
DATABASE_PAUSE_SECONDS = 1.0
LEAVING_PATIENCE_SECONDS = 5.0
CHECKPOINT_EVERY = 10
MEMORY_SHARE = 0.9


class Drive:
    """One attempt at a run, from its claim to its end."""

    def __init__(self, claim: Claim, *, worker: str, slot: Slot, pace: Pace, leaving: Event) -> None:
        self.claim, self.worker, self.slot, self.pace, self.leaving = claim, worker, slot, pace, leaving
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
                log.write(f"Attempt {self.claim.attempt} on {self.worker}")
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
            self.pace.note(len(rounds))
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
        if self.stop_until is None and (wishes.cancel or wishes.drain or self.leaving.is_set()):
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
                if self.leaving.is_set() and time.monotonic() > patience:
                    raise StaleLeaseError from error
                logger.warning("The database does not answer, trying again: %s", error)
                time.sleep(DATABASE_PAUSE_SECONDS)


def limits() -> Limits:
    """As the lab set them; 0 is none. A run that took all memory would take its neighbours with it."""
    share = int(allowed_memory() * MEMORY_SHARE)
    memory = share if settings.RUN_MEMORY is None else settings.RUN_MEMORY * 1_000_000
    return Limits(memory or None, settings.RUN_SECONDS or None, settings.RUN_SILENCE or None)


def record_of(event: dict[str, Any]) -> RoundRecord:
    clients = {int(client): numbers for client, numbers in event["clients"].items()}
    return RoundRecord(event["round"], event["metrics"], tuple(event["cohort"]), clients)
