"""The process of a worker host that has its connections to PostgreSQL: one, and more only while calls wait for it.

Workers hand it calls of the queue's services and get their answers. It decides nothing: a worker that hangs calls
nothing and loses its lease, and while the agent is away its workers wait for it as for the database. What a worker
writes together is one transaction here too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Lock, Thread, current_thread, local
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction

from experiments.core.database import set_db_timeouts
from experiments.core.errors import StaleLeaseError
from experiments.queue.services import claim, leases, workers

logger = logging.getLogger(__name__)
PATIENCE_SECONDS = 60.0
"""Longer than a connection to PostgreSQL takes to notice that its network is dead."""
MOST_CLIENTS = 2_048
WAITING_SECONDS = 0.05
IDLE_SECONDS = 10.0
"""A call that waits longer opens a further connection, which is closed when it had nothing to do for so long."""
LEAVING_SECONDS = 0.5
REFUSED_SECONDS = 0.1
"""Between two tries to let a worker in where the first failed."""
SERVICES: frozenset[Callable[..., Any]] = frozenset(
    {
        *(claim.run_claim, claim.runs_claim_ahead),
        *(leases.run_heartbeat, leases.leases_extend, leases.rounds_record, leases.start_record),
        *(leases.checkpoint_record, leases.run_finish, leases.run_fail, leases.run_release, leases.run_crash),
        *(leases.run_lose_device, leases.attempt_note),
        *(workers.worker_enlist, workers.worker_beat, workers.worker_sample, workers.worker_withdraw),
        workers.worker_leave,
    }
)

Calls = Sequence[Callable[[], Any]]
Perform = Callable[[Calls], list[Any]]


def perform(calls: Calls) -> list[Any]:
    """Over a connection of this thread's own; several in one transaction."""
    if len(calls) == 1:
        return [calls[0]()]
    with transaction.atomic():
        return [call() for call in calls]


def host_perform(address: str) -> Perform:
    """By the agent of this host, where there is one."""
    return AgentClient(address).perform if address else perform


class AgentClient:
    """What a worker has instead of a connection to the database; each of its threads has its own way to the agent."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.own = local()

    def perform(self, calls: Calls) -> list[Any]:
        """Each a `partial` of one of SERVICES, with all that it needs."""
        try:
            outcome, value = self.exchange(calls)
        except (OSError, EOFError) as error:
            self.close()
            raise OperationalError(f"The agent of this host does not answer: {error}") from error
        if outcome == "stale":
            raise StaleLeaseError
        if outcome == "away":
            raise OperationalError(value)
        if outcome == "failed":
            raise RuntimeError(value)
        answers: list[Any] = value
        return answers

    def exchange(self, calls: Calls) -> tuple[str, Any]:
        try:
            agent = self.send(calls)
        except (BrokenPipeError, ConnectionResetError):  # of an agent that is gone: the next has heard nothing of it
            self.close()
            agent = self.send(calls)
        if not agent.poll(PATIENCE_SECONDS):
            raise TimeoutError(f"not within {PATIENCE_SECONDS:g} s")
        reply: tuple[str, Any] = agent.recv()
        return reply

    def send(self, calls: Calls) -> Connection[Any, Any]:
        if getattr(self.own, "agent", None) is None:
            self.own.agent = Client(self.address, "AF_UNIX")
        agent: Connection[Any, Any] = self.own.agent
        agent.send(list(calls))
        return agent

    def close(self) -> None:
        agent, self.own.agent = getattr(self.own, "agent", None), None
        if agent is not None:
            with suppress(OSError):
                agent.close()


class Turn:
    """Calls of one worker, and what came of them."""

    def __init__(self, calls: Sequence[partial[Any]]) -> None:
        self.calls = calls
        self.begun = False
        self.done = Event()
        self.reply: tuple[str, Any] = ("", None)


class Lanes:
    """Threads with a connection each, which take turns from one queue."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.turns: Queue[Turn | None] = Queue()
        self.lock = Lock()
        self.threads: list[Thread] = []

    def answer(self, calls: Sequence[partial[Any]]) -> tuple[str, Any]:
        turn = Turn(calls)
        self.turns.put(turn)
        if not turn.done.wait(WAITING_SECONDS) and not turn.begun:
            self.add()
        turn.done.wait()
        return turn.reply

    def add(self) -> None:
        with self.lock:
            if len(self.threads) < self.most:
                thread = Thread(target=self.serve, args=[not self.threads], daemon=True)
                self.threads.append(thread)
                thread.start()

    def serve(self, first: bool) -> None:
        """The first lane stays."""
        with suppress(Empty):
            while turn := self.turns.get(timeout=None if first else IDLE_SECONDS):
                turn.begun = True
                turn.reply = answer(turn.calls)
                turn.done.set()
        connection.close()
        with self.lock:
            self.threads.remove(current_thread())

    def close(self) -> None:
        with self.lock:
            threads = list(self.threads)
        for _ in threads:
            self.turns.put(None)
        for thread in threads:
            thread.join()


class HostAgent:
    """Serves until it is asked to leave and its workers have left: they give their runs back by it."""

    def __init__(self, address: Path, connections: int) -> None:
        self.address = address
        self.lanes = Lanes(connections)
        self.lock = Lock()
        self.clients = 0

    def run(self, stop: Event) -> None:
        set_db_timeouts()
        self.lanes.add()
        self.address.unlink(missing_ok=True)
        with Listener(str(self.address), "AF_UNIX", MOST_CLIENTS) as listener:
            closed = Event()
            accepting = Thread(target=self.accept, args=[listener, closed], daemon=True)
            accepting.start()
            stop.wait()
            alone_since = time.monotonic()
            while time.monotonic() - alone_since < LEAVING_SECONDS:
                time.sleep(0.05)
                if self.clients:
                    alone_since = time.monotonic()
            closed.set()
            with suppress(OSError):
                Client(str(self.address), "AF_UNIX").close()  # so that nobody waits for the next worker any more
                accepting.join()
        self.lanes.close()

    def accept(self, listener: Listener, closed: Event) -> None:
        while not closed.is_set():
            try:
                worker = listener.accept()
            except (OSError, EOFError):  # it left while it was let in, or there are no descriptors left
                closed.wait(REFUSED_SECONDS)
                continue
            Thread(target=self.serve, args=[worker], daemon=True).start()

    def serve(self, worker: Connection[Any, Any]) -> None:
        with self.lock:
            self.clients += 1
        try:
            with worker, suppress(OSError, EOFError):
                while True:
                    calls = worker.recv()
                    worker.send(self.lanes.answer(calls))
        finally:
            with self.lock:
                self.clients -= 1


def answer(calls: Sequence[partial[Any]]) -> tuple[str, Any]:
    unknown = [call for call in calls if call.func not in SERVICES]
    if unknown:
        return "failed", f"{unknown[0].func.__name__} is not for workers to call."
    try:
        return "done", perform(calls)
    except StaleLeaseError:
        return "stale", None
    except (OperationalError, InterfaceError) as error:
        connection.close()
        return "away", str(error)
    except Exception as error:
        logger.exception("A call failed")
        connection.close()
        return "failed", f"{type(error).__name__}: {error}"
