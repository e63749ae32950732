"""Processes the supervisor owns: started, started again with growing patience, stopped without survivors."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from config.services.spawn import Command, spawn

LONGEST_PAUSE = 30.0
STEADY_SECONDS = 60.0


@dataclass
class Child:
    """`start` gives a running process. `ready` tells whether it does its work yet."""

    name: str
    start: Callable[[], subprocess.Popen[bytes]]
    log: Path | None
    ready: Callable[[], bool] = lambda: True
    farewell: signal.Signals = signal.SIGTERM
    grace: float = 10.0
    url: str = ""
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

    def trouble(self, what: str) -> str:
        place = f" Its log is {self.log}." if self.log else ""
        return f"{self.name} {what}.{place}"

    def plan_restart(self) -> float:
        """Seconds until the next try: 1, 2, 4, ... 30; one that had run steadily starts over at 1."""
        steady = time.monotonic() - self.started > STEADY_SECONDS
        self.failures = 1 if steady else self.failures + 1
        pause = min(LONGEST_PAUSE, 2.0 ** (self.failures - 1))
        self.next_start = time.monotonic() + pause
        return pause

    def ask_to_stop(self) -> None:
        if self.running and self.process is not None:
            self.process.send_signal(self.farewell)


def process_child(name: str, command: Command, ready: Callable[[], bool], grace: float = 10.0) -> Child:
    return Child(name, lambda: spawn(command), command.log, ready, grace=grace)


def stop_together(children: list[Child], patient: Callable[[], bool] = lambda: True) -> None:
    """Asks all, waits for each as long as its grace allows, then ends what is left, descendants included."""
    family = [process for child in children for process in descendants(child)]
    asked = time.monotonic()
    for child in children:
        child.ask_to_stop()
    while patient() and any(child.running and time.monotonic() - asked < child.grace for child in children):
        time.sleep(0.02)
    for child in children:
        end_group(child)
    for process in family:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(family, timeout=5)


def descendants(child: Child) -> list[psutil.Process]:
    """Named before the parent goes: orphans cannot be told from strangers."""
    try:
        return psutil.Process(child.process.pid).children(recursive=True) if child.process else []
    except psutil.Error:
        return []


def end_group(child: Child) -> None:
    """Each child leads a group of its own, which may outlive it."""
    if child.process is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.process.pid, signal.SIGKILL)
        child.process.wait()
