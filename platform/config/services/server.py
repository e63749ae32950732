"""What the embedded servers have in common: a process that cannot outlive its starter, socket, log, account."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from typing import IO, ClassVar

from config.env import Listen
from config.home import Home
from config.services.account import ServiceError, server_account
from config.services.sockets import make_socket_folder, socket_folder


@dataclass
class Server(ABC):
    """Reached by a Unix socket, and at `listen` too where an address is given there.

    It gets `stop_signal` to end, and after `patience_seconds` `kill_signal`.
    """

    title: ClassVar[str]
    start_seconds: ClassVar[float]
    stop_signal: ClassVar[Signals] = SIGTERM
    kill_signal: ClassVar[Signals] = SIGKILL
    patience_seconds: ClassVar[float] = 10

    home: Home
    listen: Listen | None = None
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.home.logs / f"{type(self).__name__.lower()}.log"

    @property
    @abstractmethod
    def address(self) -> str:
        """Without the password, which stays in the home's secrets."""

    @property
    def url(self) -> str:
        return with_password(self.address, self.home.secret(type(self).__name__.lower()))

    @property
    def folder(self) -> Path:
        return socket_folder(self.home)

    @property
    def account(self) -> str | None:
        return server_account()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> subprocess.Popen[bytes]:
        """Waits until it answers."""
        self.home.make()
        make_socket_folder(self.home)
        self.prepare()
        return self.launch()

    @abstractmethod
    def prepare(self) -> None:
        """What it needs before its first start."""

    def launch(self) -> subprocess.Popen[bytes]:
        self.process = self.spawn_process()
        deadline = time.monotonic() + self.start_seconds
        while time.monotonic() < deadline and self.running:
            if self.answers():
                return self.process
            time.sleep(0.05)
        self.stop()
        raise ServiceError(f"{self.title} did not start: {last_line(self.log)}. Its log is {self.log}.")

    @abstractmethod
    def spawn_process(self) -> subprocess.Popen[bytes]: ...

    @abstractmethod
    def answers(self) -> bool: ...

    def stop(self, seconds: float | None = None) -> None:
        if self.process is None or not self.running:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(self.patience_seconds if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(self.kill_signal)
            self.process.wait()


def with_password(address: str, password: str) -> str:
    """Of an address `scheme://user@place`, whose user may be empty."""
    return address.replace("@", f":{password}@", 1)


def clean_environment() -> dict[str, str]:
    """Nothing of the person's environment reaches a server, PGDATA and the like least of all."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Command:
    """What to start; without a log it writes where its parent writes. `descriptors` are open files it is handed.

    `parent_death_signal` is the signal the process gets when its parent is gone, even by kill -9.
    """

    arguments: Sequence[str]
    log: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: Path | None = None
    user: str | None = None
    stdin: int = subprocess.DEVNULL
    descriptors: tuple[int, ...] = ()
    parent_death_signal: signal.Signals = signal.SIGTERM


def spawn(command: Command) -> subprocess.Popen[bytes]:
    with open_log(command.log) if command.log else contextlib.nullcontext() as log:
        return subprocess.Popen(
            list(command.arguments),
            stdin=command.stdin,
            stdout=log,
            stderr=log,
            cwd=command.folder,
            env=dict(command.environment),
            pass_fds=command.descriptors,
            user=command.user,
            group=command.user,
            extra_groups=[] if command.user else None,
            start_new_session=True,
            preexec_fn=tie_to_parent(os.getpid(), command.parent_death_signal),
        )


def tie_to_parent(parent: int, death_signal: signal.Signals) -> Callable[[], None]:
    def tie() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(death_signal))
        if os.getppid() != parent:  # the parent died before the signal was set
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
