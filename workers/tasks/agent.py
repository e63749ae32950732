"""A worker process: its row in the database, its heartbeat, its runner, and the runs it takes one after another."""

from __future__ import annotations

import logging
import shutil
import socket
import time
from dataclasses import asdict
from threading import Event, Lock, Thread

from django.db import Error, connection

from experiments.models import Worker
from experiments.services import fleet
from experiments.services.leases import Claim
from experiments.services.queue import run_claim
from workers import gauges
from workers.catalog import plugin_facts
from workers.drive import Drive
from workers.home import home
from workers.pace import Pace
from workers.slot import Slot

logger = logging.getLogger(__name__)

SAMPLE_SECONDS = 15.0
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
        while not self.gone.wait(fleet.BEAT_SECONDS):
            self.beat()
            self.sample()
            connection.close()

    def beat(self) -> None:
        try:
            with self.beating:
                if self.worker and fleet.worker_beat(worker=self.worker, rounds_per_second=self.pace.per_second):
                    return
                self.worker = fleet.worker_enlist(
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
            fleet.worker_sample(worker=self.worker, rounds_per_second=self.pace.per_second, **used)
        except Error as error:
            connection.close()
            logger.warning("What this worker uses was not stored: %s", error)

    def work(self) -> int:
        """Runs claimed and driven until the queue is empty or this worker shall leave."""
        self.beat()
        driven = 0
        while self.worker and not self.leaving.is_set() and has_room() and (claim := run_claim(worker=self.worker)):
            self.drive(claim)
            driven += 1
            # A runner that died is replaced while nobody waits for it.
            if not self.leaving.is_set():
                self.slot.warm()
        return driven

    def drive(self, claim: Claim) -> None:
        Drive(claim, worker=self.name, slot=self.slot, pace=self.pace, leaving=self.leaving).run()

    def leave(self) -> None:
        self.gone.set()
        self.slot.close()
        if self.worker:
            fleet.worker_leave(worker=self.worker)


def has_room() -> bool:
    """On a full disk run after run would fail, and in a moment the whole queue."""
    place = home() / "runs"
    place.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(place).free
    if free < ROOM_BYTES:
        logger.warning("No run is taken: only %.0f MB are left in %s.", free / 1e6, place)
    return free >= ROOM_BYTES
