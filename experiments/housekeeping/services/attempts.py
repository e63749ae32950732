"""One try at a job: its signs of life, its wish to stop, and the process that computes for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from select import select
from threading import Event
from typing import IO, Any

import psutil

from experiments.housekeeping.services.jobs import job_beat, job_progress
from experiments.models import Job
from workers.child_environment import environment_without_secrets
from workers.errors import TributaryError
from workers.home import ROOT
from workers.memory import allowed_memory

BEAT_SECONDS = 1.0
GRACE_SECONDS = 5.0
MEMORY_CHECK_SECONDS = 0.5
MEMORY_SHARE = 0.5
"""Of the machine's or the container's, for the process of one job: a small file can ask for any amount."""
LAST_WORDS = 2_000


class JobStoppedError(Exception):
    """The process was asked to leave, or the job was given to another."""


class JobAttempt:
    """What the work of a job may say and ask while it goes on."""

    def __init__(self, job: Job, stopping: Event) -> None:
        self.job, self.stopping = job, stopping
        self.beat_at = self.memory_check_at = 0.0

    def go_on(self) -> None:
        """To be called at least every few seconds."""
        if self.stopping.is_set():
            raise JobStoppedError
        if time.monotonic() >= self.beat_at:
            self.beat_at = time.monotonic() + BEAT_SECONDS
            if not job_beat(job=self.job):
                raise JobStoppedError

    def report(self, share: float, text: str) -> None:
        """Written down at most every second."""
        if time.monotonic() >= self.beat_at:
            self.beat_at = time.monotonic() + BEAT_SECONDS
            if not job_progress(job=self.job, share=share, text=text):
                raise JobStoppedError
        self.go_on()

    def ask_module(self, module: str, request: Any, *, timeout: float | None = None, memory: int | None = None) -> Any:
        """The answer of `python -m module`, the last of its lines of JSON; those before it say how far it is.

        It computes without the platform's secrets, and ends with this try, or where it takes more than `memory` bytes.
        """
        until = time.monotonic() + timeout if timeout else float("inf")
        most = memory or int(allowed_memory() * MEMORY_SHARE)
        answer: Any = None
        with tempfile.TemporaryFile() as errors, module_process(module, request, errors) as process:
            for line in self.lines_of(process):
                self.require_memory(process, most)
                if time.monotonic() > until:
                    raise TributaryError(f"It takes longer than {timeout:.0f} s.")
                if line and isinstance(answer := json.loads(line), dict) and answer.get("event") == "progress":
                    self.report(answer["share"], answer["text"])
            if process.wait() != 0 or answer is None:
                raise TributaryError(f"Its process ended with {process.returncode}: {last_line(errors)}")
        return answer

    def require_memory(self, process: subprocess.Popen[bytes], most: int) -> None:
        if time.monotonic() < self.memory_check_at:
            return
        self.memory_check_at = time.monotonic() + MEMORY_CHECK_SECONDS
        if own_memory(process.pid) > most:
            raise TributaryError(f"It takes more than {most / 1e9:,.1f} GB of memory, and was ended.")

    def lines_of(self, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
        """Its lines as they come, and an empty one every half second without any."""
        assert process.stdout is not None
        rest = b""
        while True:
            self.go_on()
            if not select([process.stdout], [], [], MEMORY_CHECK_SECONDS)[0]:
                yield b""
                continue
            if not (chunk := os.read(process.stdout.fileno(), 1 << 16)):
                if rest:
                    yield rest
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines


@contextmanager
def module_process(module: str, request: Any, errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Leads a group of its own, which is ended with it."""
    with tempfile.TemporaryFile() as written:
        written.write(json.dumps(request).encode())
        written.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(os.getpid())],
            stdin=written,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
            env=environment_without_secrets(),
            start_new_session=True,
        )
    with process:
        try:
            yield process
        finally:
            end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Politely first: a fetch keeps what has come."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def own_memory(pid: int) -> int:
    """Of a process and what it started, without files that are only mapped: those give way."""
    try:
        process = psutil.Process(pid)
        sizes = [each.memory_info() for each in (process, *process.children(recursive=True))]
    except psutil.Error:
        return 0
    return sum(each.rss - getattr(each, "shared", 0) for each in sizes)


def last_line(errors: IO[bytes]) -> str:
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - LAST_WORDS))
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"
