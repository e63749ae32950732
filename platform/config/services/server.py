"""What the embedded servers have in common: an address on this machine, a log, an account, a start and an end."""

from __future__ import annotations

import os
import subprocess
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from typing import ClassVar

from config.home import Home
from config.services.account import ServiceError, server_account
from config.services.spawn import last_line, port_of, reserve_port


@dataclass
class Server(ABC):
    """`asks` it to end, and after `patience` seconds `insists`."""

    title: ClassVar[str]
    start_seconds: ClassVar[float]
    asks: ClassVar[Signals] = SIGTERM
    insists: ClassVar[Signals] = SIGKILL
    patience: ClassVar[float] = 10

    home: Home
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.home.logs / f"{type(self).__name__.lower()}.log"

    @property
    def account(self) -> str | None:
        return server_account()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> subprocess.Popen[bytes]:
        """Waits until it answers."""
        self.home.make()
        self.prepare()
        self.choose_port()
        return self.launch()

    @abstractmethod
    def prepare(self) -> None:
        """What it needs before its first start."""

    def choose_port(self) -> None:
        """Once: a server that is started again keeps its address."""
        if not self.port:
            with reserve_port() as holder:
                self.port = port_of(holder)

    def launch(self) -> subprocess.Popen[bytes]:
        self.process = self.spawned()
        deadline = time.monotonic() + self.start_seconds
        while time.monotonic() < deadline and self.running:
            if self.answers():
                return self.process
            time.sleep(0.05)
        self.stop()
        raise ServiceError(f"{self.title} did not start: {last_line(self.log)}. Its log is {self.log}.")

    @abstractmethod
    def spawned(self) -> subprocess.Popen[bytes]: ...

    @abstractmethod
    def answers(self) -> bool: ...

    def stop(self, seconds: float | None = None) -> None:
        if self.process is None or not self.running:
            return
        self.process.send_signal(self.asks)
        try:
            self.process.wait(self.patience if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(self.insists)
            self.process.wait()


def clean_environment() -> dict[str, str]:
    """Nothing of the person's environment reaches a server, PGDATA and the like least of all."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
