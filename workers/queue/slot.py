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

from workers.child_environment import environment_without_secrets
from workers.errors import TributaryError

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
READ_BYTES = 1 << 16
MOST_CHUNKS = 64
LONGEST_LINE = 64 << 20
MOST_PROCESSES = 256
FOLDER_CHECK_SECONDS = 2.0
TAIL_LINES = 20
EXIT_SECONDS = 3.0
MEMORY_CHECK_SECONDS = 1.0
RUNNER_COMMAND = (sys.executable, "-m", "workers.queue.runner")


class RunnerDiedError(TributaryError):
    """The runner process ended while it was needed; the text says how, with its last words."""


class LimitError(TributaryError):
    """The runner went over a limit and was ended."""


@dataclass(frozen=True)
class Limits:
    """None means no limit. `silence`: seconds without any event; `seconds`: of the whole run; `memory`: bytes.

    `files`: bytes below the `folder` that the run writes into.
    """

    memory: int | None = None
    seconds: float | None = None
    silence: float | None = None
    folder: Path | None = None
    files: int | None = None


NO_LIMITS = Limits()


class LineReader:
    """Whole lines out of a non-blocking pipe."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.rest = b""
        self.ended = False
        os.set_blocking(stream.fileno(), False)

    def read(self) -> list[str]:
        """At most some of what is there: who prints without end must not keep the reader for ever."""
        chunks = [self.rest]
        try:
            for _ in range(MOST_CHUNKS):
                chunk = os.read(self.stream.fileno(), READ_BYTES)
                if not chunk:
                    self.ended = True
                    break
                chunks.append(chunk)
        except BlockingIOError:
            pass
        *lines, self.rest = b"".join(chunks).split(b"\n")
        if len(self.rest) > LONGEST_LINE:
            lines, self.rest = [*lines, self.rest], b""
        return [line.decode(errors="replace") for line in lines]


@dataclass(frozen=True)
class RunnerProcess:
    """A runner process and its three pipes: messages to it, its events, and what its libraries print."""

    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    events: LineReader
    output: LineReader

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
            self.stdin.close()
        try:
            self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self.events.stream.close()
        self.output.stream.close()


def spawn_runner(command: list[str], threads: int, environment: Mapping[str, str]) -> RunnerProcess:
    process = subprocess.Popen(
        [*command, str(os.getpid()), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    stdin, events, output = process.stdin, process.stdout, process.stderr
    if stdin is None or events is None or output is None:
        raise RunnerDiedError("The run's process has no pipes.")
    return RunnerProcess(process, stdin, LineReader(events), LineReader(output))


def runner_environment(threads: int) -> dict[str, str]:
    """Without the platform's secrets: a runner computes, with plugins of the lab, and needs none of them."""
    path = [str(PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **environment_without_secrets(),
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "OMP_NUM_THREADS": str(threads),
        "TRIBUTARY_THREADS": str(threads),
        "PYTHONFAULTHANDLER": "1",
    }


class Slot:
    """One warm runner. Not thread-safe, and to be used only from threads that live as long as the process."""

    def __init__(
        self,
        *,
        device: str = "cpu",
        threads: int = 1,
        command: Sequence[str] = RUNNER_COMMAND,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.device, self.threads, self.command = device, threads, list(command)
        self.environment = runner_environment(threads) if environment is None else environment
        self.child: RunnerProcess | None = None
        self.log: Callable[[str], None] | None = None
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.warmed_at = self.started_at = self.last_event_at = self.next_memory_check = self.next_folder_check = 0.0
        self.limits = Limits()

    @property
    def pid(self) -> int | None:
        return self.child.process.pid if self.child and self.child.alive else None

    def warm(self) -> None:
        """Starts the runner unless it lives. Its imports go on in the background; a job may be sent at once."""
        if self.pid is None:
            self.close()
            self.tail.clear()
            self.warmed_at = time.monotonic()
            self.child = spawn_runner(self.command, self.threads, self.environment)

    @property
    def age(self) -> float:
        """Seconds since the runner began to read its code."""
        return time.monotonic() - self.warmed_at

    def renew(self) -> None:
        """Another runner, which reads all code anew."""
        self.close()
        self.warm()

    def start(
        self, job: Mapping[str, Any], *, limits: Limits = NO_LIMITS, log: Callable[[str], None] | None = None
    ) -> None:
        self.warm()
        # What the run before has printed last is its own.
        self.collect_output(self.require_child())
        self.limits, self.log = limits, log
        self.started_at = self.last_event_at = self.next_folder_check = time.monotonic()
        self.tail.clear()
        self.send({"do": "run", "device": self.device, **job})

    def stop(self) -> None:
        """Asks; the runner answers with `stopped` (or `done`, if it was faster)."""
        self.send({"do": "stop"})

    def send(self, message: Mapping[str, Any]) -> None:
        child = self.require_child()
        try:
            child.stdin.write(json.dumps(message).encode() + b"\n")
            child.stdin.flush()
        except BrokenPipeError:
            raise self.death_error(child) from None

    def poll(self, timeout: float) -> list[dict[str, Any]]:
        """All events that are there, or that come within the time. Raises `RunnerDiedError` or `LimitError`."""
        child = self.require_child()
        select.select([each.stream for each in (child.events, child.output) if not each.ended], [], [], timeout)
        self.collect_output(child)
        events = [json.loads(line) for line in child.events.read()]
        if events:
            self.last_event_at = time.monotonic()
        elif child.events.ended:
            raise self.death_error(child)
        self.enforce_limits()
        return events

    def require_child(self) -> RunnerProcess:
        """Also after its death, so that its last events and output are read."""
        if self.child is None:
            raise RunnerDiedError("The run's process was never started.")
        return self.child

    def collect_output(self, child: RunnerProcess) -> None:
        for line in child.output.read():
            self.tail.append(line)
            if self.log:
                self.log(line)

    def enforce_limits(self) -> None:
        now, limits = time.monotonic(), self.limits
        if limits.seconds is not None and now - self.started_at > limits.seconds:
            self.end_over_limit(f"The run took longer than the {limits.seconds:g} seconds allowed", "SECONDS")
        if limits.silence is not None and now - self.last_event_at > limits.silence:
            self.end_over_limit(f"The run gave no sign for {limits.silence:g} seconds", "SILENCE")
        # Looking at a family of processes costs milliseconds, which fast rounds would feel.
        if limits.memory is not None and now >= self.next_memory_check:
            self.next_memory_check = now + MEMORY_CHECK_SECONDS
            used, processes = self.used_memory()
            if used > limits.memory:
                self.end_over_limit(f"The run used more than the {limits.memory / 1e6:,.0f} MB allowed", "MEMORY")
            if processes > MOST_PROCESSES:
                self.end_over_limit(f"The run started more than {MOST_PROCESSES} processes")
        if limits.folder is not None and limits.files is not None and now >= self.next_folder_check:
            self.next_folder_check = now + FOLDER_CHECK_SECONDS
            if folder_bytes(limits.folder) > limits.files:
                self.end_over_limit(f"The run wrote more than the {limits.files / 1e6:,.0f} MB allowed", "FILES")

    def end_over_limit(self, reason: str, setting: str | None = None) -> None:
        """The first line is the same for all such runs, so that people find them together."""
        child = self.require_child()
        child.kill()
        self.collect_output(child)
        named = f" (TRIBUTARY_RUN_{setting})" if setting else ""
        raise LimitError("\n".join([f"{reason} and was ended{named}.", *self.tail]))

    def used_memory(self) -> tuple[int, int]:
        """Bytes of the runner and all its children, and how many processes they are."""
        try:
            process = psutil.Process(self.pid)
            family = [process, *process.children(recursive=True)]
            return sum(each.memory_info().rss for each in family), len(family)
        except psutil.Error:
            return 0, 0

    def death_error(self, child: RunnerProcess) -> RunnerDiedError:
        child.kill()
        self.collect_output(child)
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


def folder_bytes(folder: Path) -> int:
    """Of all files below it; what disappears meanwhile does not count."""
    total = 0
    for root, _, names in os.walk(folder, onerror=None):
        for name in names:
            with suppress(OSError):
                total += Path(root, name).lstat().st_size
    return total
