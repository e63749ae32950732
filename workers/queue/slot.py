"""The parent's side of a runner process: starts it, keeps it warm, hears it, stops it, ends it by its process id."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil

from workers.errors import TributaryError

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
READ = 1 << 16
TAIL_LINES = 20
EXIT_SECONDS = 3.0
WEIGH_SECONDS = 1.0
RUNNER = (sys.executable, "-m", "workers.queue.runner")


class RunnerDiedError(TributaryError):
    """The runner process ended while it was needed; the text says how, with its last words."""


class LimitError(TributaryError):
    """The runner went over a limit and was ended."""


@dataclass(frozen=True)
class Limits:
    """None means no limit. `silence`: seconds without any event; `seconds`: of the whole run; `memory`: bytes."""

    memory: int | None = None
    seconds: float | None = None
    silence: float | None = None


NO_LIMITS = Limits()


class Lines:
    """Whole lines out of a non-blocking pipe."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.rest = b""
        self.ended = False
        os.set_blocking(stream.fileno(), False)

    def read(self) -> list[str]:
        chunks = [self.rest]
        try:
            while chunk := os.read(self.stream.fileno(), READ):
                chunks.append(chunk)
            self.ended = True
        except BlockingIOError:
            pass
        *lines, self.rest = b"".join(chunks).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


@dataclass(frozen=True)
class Child:
    """A runner process and its three pipes: what it is told, what it tells, and what its libraries print."""

    process: subprocess.Popen[bytes]
    told: IO[bytes]
    events: Lines
    words: Lines

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """Ends the runner and all it started, at once."""
        if self.alive:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        """Lets the runner leave, or ends it."""
        with suppress(BrokenPipeError):
            self.told.close()
        try:
            self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self.events.stream.close()
        self.words.stream.close()


def spawn(command: list[str], threads: int) -> Child:
    process = subprocess.Popen(
        [*command, str(os.getpid()), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(threads),
        start_new_session=True,
    )
    told, events, words = process.stdin, process.stdout, process.stderr
    if told is None or events is None or words is None:
        raise RunnerDiedError("The run's process has no pipes.")
    return Child(process, told, Lines(events), Lines(words))


def environment(threads: int) -> dict[str, str]:
    path = [str(PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "OMP_NUM_THREADS": str(threads),
        "TRIBUTARY_THREADS": str(threads),
        "PYTHONFAULTHANDLER": "1",
    }


class Slot:
    """One warm runner. Not thread-safe, and to be used from the thread that lives as long as the process."""

    def __init__(self, *, device: str = "cpu", threads: int = 1, command: Sequence[str] = RUNNER) -> None:
        self.device, self.threads, self.command = device, threads, list(command)
        self.child: Child | None = None
        self.log: Callable[[str], None] | None = None
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.begun = self.heard = self.weigh_at = 0.0
        self.limits = Limits()

    @property
    def pid(self) -> int | None:
        return self.child.process.pid if self.child and self.child.alive else None

    def warm(self) -> None:
        """Starts the runner unless it lives. Its imports go on in the background; a job may be sent at once."""
        if self.pid is None:
            self.close()
            self.tail.clear()
            self.child = spawn(self.command, self.threads)

    def start(
        self, job: Mapping[str, Any], *, limits: Limits = NO_LIMITS, log: Callable[[str], None] | None = None
    ) -> None:
        self.warm()
        self.limits, self.log = limits, log
        self.begun = self.heard = self.weigh_at = time.monotonic()
        self.tail.clear()
        self.send({"do": "run", "device": self.device, **job})

    def stop(self) -> None:
        """Asks; the runner answers with `stopped` (or `done`, if it was faster)."""
        self.send({"do": "stop"})

    def send(self, message: Mapping[str, Any]) -> None:
        child = self.started()
        try:
            child.told.write(json.dumps(message).encode() + b"\n")
            child.told.flush()
        except BrokenPipeError:
            raise self.death(child) from None

    def poll(self, timeout: float) -> list[dict[str, Any]]:
        """All events that are there, or that come within the time. Raises `RunnerDiedError` or `LimitError`."""
        child = self.started()
        select.select([each.stream for each in (child.events, child.words) if not each.ended], [], [], timeout)
        self.keep_words(child)
        events = [json.loads(line) for line in child.events.read()]
        if events:
            self.heard = time.monotonic()
        elif child.events.ended:
            raise self.death(child)
        self.enforce()
        return events

    def started(self) -> Child:
        """Also after its death, so that its last events and words are heard."""
        if self.child is None:
            raise RunnerDiedError("The run's process was never started.")
        return self.child

    def keep_words(self, child: Child) -> None:
        for line in child.words.read():
            self.tail.append(line)
            if self.log:
                self.log(line)

    def enforce(self) -> None:
        now, limits = time.monotonic(), self.limits
        if limits.seconds is not None and now - self.begun > limits.seconds:
            self.end_over_limit(f"The run took longer than the {limits.seconds:g} seconds allowed", "SECONDS")
        if limits.silence is not None and now - self.heard > limits.silence:
            self.end_over_limit(f"The run gave no sign for {limits.silence:g} seconds", "SILENCE")
        # Looking at a family of processes costs milliseconds, which fast rounds would feel.
        if limits.memory is not None and now >= self.weigh_at:
            self.weigh_at = now + WEIGH_SECONDS
            if self.memory() > limits.memory:
                self.end_over_limit(f"The run used more than the {limits.memory / 1e6:,.0f} MB allowed", "MEMORY")

    def end_over_limit(self, reason: str, setting: str) -> None:
        """The first line is the same for all such runs, so that people find them together."""
        child = self.started()
        child.kill()
        self.keep_words(child)
        raise LimitError("\n".join([f"{reason} and was ended (TRIBUTARY_RUN_{setting}).", *self.tail]))

    def memory(self) -> int:
        """Of the runner and all its children."""
        try:
            process = psutil.Process(self.pid)
            return sum(each.memory_info().rss for each in [process, *process.children(recursive=True)])
        except psutil.Error:
            return 0

    def death(self, child: Child) -> RunnerDiedError:
        child.kill()
        self.keep_words(child)
        code = child.process.returncode
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return RunnerDiedError("\n".join([f"The run's process {how}.", *self.tail]))

    def kill(self) -> None:
        if self.child:
            self.child.kill()

    def close(self) -> None:
        if self.child:
            self.child.close()
            self.child = None
