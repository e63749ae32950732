"""Starts a process that cannot outlive the one that started it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Command:
    """What to start; without a log it writes where its parent writes.

    `leash` is the signal the process gets when its parent is gone, even by kill -9.
    """

    arguments: Sequence[str]
    log: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: Path | None = None
    user: str | None = None
    stdin: int = subprocess.DEVNULL
    leash: signal.Signals = signal.SIGTERM


def spawn(command: Command) -> subprocess.Popen[bytes]:
    with open_log(command.log) if command.log else contextlib.nullcontext() as log:
        return subprocess.Popen(
            list(command.arguments),
            stdin=command.stdin,
            stdout=log,
            stderr=log,
            cwd=command.folder,
            env=dict(command.environment),
            user=command.user,
            group=command.user,
            extra_groups=[] if command.user else None,
            start_new_session=True,
            preexec_fn=tie_to(os.getpid(), command.leash),
        )


def tie_to(parent: int, leash: signal.Signals) -> Callable[[], None]:
    def tie() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(leash))
        if os.getppid() != parent:  # the parent died before the leash held
            os._exit(1)

    return tie


def open_log(path: Path) -> IO[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb")


def last_line(log: Path | None) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log and log.exists() else []
    return lines[-1] if lines else "it said nothing"


def reserve_port() -> socket.socket:
    """A bound socket that keeps its port from others until the server has bound it too (it sets SO_REUSEADDR)."""
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def port_of(holder: socket.socket) -> int:
    return int(holder.getsockname()[1])
