"""Keeps children running until a signal says stop, and then leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import psutil

from config.home import Home
from config.services.account import ServiceError
from config.services.server import Command, last_line, spawn
from config.services.state import process_record, read_state, record_process, write_state

READY_SECONDS = 90.0
CAP_SECONDS = 10.0


def print_line(line: str) -> None:
    """A terminal that went away must not keep the platform from stopping in order."""
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        pass


class StopSignal(BaseException):
    """Ctrl-C, SIGTERM or SIGHUP while the platform starts or runs."""


@dataclass
class Supervisor:
    """Remembers its children in the home, if it has one: that is how other commands find them."""

    home: Home | None
    children: list[Child] = field(default_factory=list)
    stopping: bool = False
    impatient: bool = False

    def handle_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.on_signal)

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """The first signal stops in order, a second one at once."""
        if self.stopping:
            self.impatient = True
        else:
            self.stopping = True
            raise StopSignal

    def add(self, child: Child) -> None:
        self.children.append(child)
        self.launch(child)

    def launch(self, child: Child) -> None:
        child.launch()
        if self.home and child.process is not None and child.running:
            record_process(self.home, child.name, process_record(child.process.pid, child.address))

    def wait_until_ready(self, *names: str) -> None:
        chosen = [child for child in self.children if child.name in names]
        deadline = time.monotonic() + READY_SECONDS
        while not all(child.ready() for child in chosen):
            for child in chosen:
                if not child.running or time.monotonic() > deadline:
                    raise ServiceError(child.problem_text(f"did not start: {last_line(child.log)}"))
            time.sleep(0.2)

    def watch(self) -> None:
        """Runs until a signal ends it."""
        capped = time.monotonic()
        while True:
            for child in self.children:
                self.restart_if_ended(child)
            if self.home and time.monotonic() - capped > CAP_SECONDS:
                cap_logs(self.home.logs)
                capped = time.monotonic()
            time.sleep(0.2)

    def restart_if_ended(self, child: Child) -> None:
        if child.running:
            return
        if child.process is not None:
            code, pause = child.exit_code, child.plan_restart()
            print_line(child.problem_text(f"ended by itself (code {code}) and starts again in {pause:.0f} s"))
            kill_group(child)
            child.process = None
        elif time.monotonic() >= child.next_start:
            try:
                self.launch(child)
            except (ServiceError, OSError) as error:
                print_line(f"{error} Trying again in {child.plan_restart():.0f} s.")

    def stop(self) -> None:
        """Web, workers and scheduler first, then Redis, and PostgreSQL when nobody writes any more."""
        self.stopping = True
        own = [child for child in self.children if not child.address]
        services = [child for child in reversed(self.children) if child.address]
        for group in (own, *([service] for service in services)):
            stop_together(group, lambda: not self.impatient)
        if self.home:
            self.forget_children(self.home)

    @staticmethod
    def forget_children(home: Home) -> None:
        """On a full disk they stay written down: their numbers and start times fit nobody any more."""
        try:
            write_state(home, {})
        except OSError as error:
            print_line(f"{home.state} could not be written: {error.strerror}.")


LONGEST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 60.0


@dataclass
class Child:
    """`start` gives a running process. `ready` tells whether it does its work yet."""

    name: str
    start: Callable[[], subprocess.Popen[bytes]]
    log: Path | None
    ready: Callable[[], bool] = lambda: True
    stop_signal: signal.Signals = signal.SIGTERM
    grace_seconds: float = 10.0
    address: str = ""
    process: subprocess.Popen[bytes] | None = None
    failures: int = 0
    started: float = 0.0
    next_start: float = field(default=0.0, repr=False)

    def launch(self) -> None:
        self.started = time.monotonic()
        self.process = self.start()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def exit_code(self) -> int | None:
        return None if self.process is None else self.process.poll()

    def problem_text(self, what: str) -> str:
        place = f" Its log is {self.log}." if self.log else ""
        return f"{self.name} {what}.{place}"

    def plan_restart(self) -> float:
        """Seconds until the next try: 1, 2, 4, ... 30; one that had run steadily starts over at 1."""
        steady = time.monotonic() - self.started > STEADY_SECONDS
        self.failures = 1 if steady else self.failures + 1
        pause = min(LONGEST_PAUSE_SECONDS, 2.0 ** (self.failures - 1))
        self.next_start = time.monotonic() + pause
        return pause

    def ask_to_stop(self) -> None:
        if self.running and self.process is not None:
            self.process.send_signal(self.stop_signal)


def process_child(name: str, command: Command, ready: Callable[[], bool], grace_seconds: float = 10.0) -> Child:
    return Child(name, lambda: spawn(command), command.log, ready, grace_seconds=grace_seconds)


def stop_together(children: list[Child], patient: Callable[[], bool] = lambda: True) -> None:
    """Asks all, waits for each as long as its grace allows, then ends what is left, descendants included."""
    family = [process for child in children for process in child_descendants(child)]
    begin = time.monotonic()
    for child in children:
        child.ask_to_stop()
    while patient() and any(child.running and time.monotonic() - begin < child.grace_seconds for child in children):
        time.sleep(0.02)
    for child in children:
        kill_group(child)
    for process in family:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(family, timeout=5)


def child_descendants(child: Child) -> list[psutil.Process]:
    """Named before the parent goes: orphans cannot be told from strangers."""
    try:
        return psutil.Process(child.process.pid).children(recursive=True) if child.process else []
    except psutil.Error:
        return []


def kill_group(child: Child) -> None:
    """Each child leads a group of its own, which may outlive it."""
    if child.process is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.process.pid, signal.SIGKILL)
        child.process.wait()


LEFTOVER_SECONDS = 15.0


def clear_leftovers(home: Home) -> int:
    """Ends every recorded process that still lives, by its pid and start time; call with the home's lock held."""
    recorded = [(name, record.process()) for name, record in read_state(home).items()]
    alive = [(name, process) for name, process in recorded if process is not None]
    family = [child for _, process in alive for child in process_descendants(process)]
    for name, process in alive:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGINT if name == "postgres" else signal.SIGTERM)
    _, stubborn = psutil.wait_procs([process for _, process in alive], timeout=LEFTOVER_SECONDS)
    for process in [*stubborn, *family]:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs([*stubborn, *family], timeout=LEFTOVER_SECONDS)
    write_state(home, {})
    return len(alive)


def process_descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


LARGEST_LOG_BYTES = 10_000_000


def cap_logs(folder: Path, largest: int = LARGEST_LOG_BYTES) -> None:
    """Copies and empties instead of renaming: the writers hold these files open, in append mode.

    On a full disk the older lines go: they would take the room that the data need.
    """
    for log in folder.glob("*.log"):
        if log.stat().st_size > largest:
            older = log.with_suffix(".log.1")
            try:
                shutil.copyfile(log, older)
                older.chmod(0o600)
            except OSError:
                older.unlink(missing_ok=True)
            os.truncate(log, 0)
