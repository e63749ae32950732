"""Keeps children running until a signal says stop, and then leaves nothing behind."""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass, field
from types import FrameType

from config.children import Child, end_group, stop_together
from config.home import Home
from config.logs import cap_logs
from config.services.account import ServiceError
from config.services.spawn import last_line
from config.services.state import note, record_of, write_state

READY_SECONDS = 90.0
CAP_EVERY = 10.0


def say(line: str) -> None:
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

    def listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.hear)

    def hear(self, _number: int, _frame: FrameType | None) -> None:
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
            note(self.home, child.name, record_of(child.process.pid, child.url))

    def wait_until_ready(self, *names: str) -> None:
        chosen = [child for child in self.children if child.name in names]
        deadline = time.monotonic() + READY_SECONDS
        while not all(child.ready() for child in chosen):
            for child in chosen:
                if not child.running or time.monotonic() > deadline:
                    raise ServiceError(child.trouble(f"did not start: {last_line(child.log)}"))
            time.sleep(0.2)

    def watch(self) -> None:
        """Runs until a signal ends it."""
        capped = time.monotonic()
        while True:
            for child in self.children:
                self.look_after(child)
            if self.home and time.monotonic() - capped > CAP_EVERY:
                cap_logs(self.home.logs)
                capped = time.monotonic()
            time.sleep(0.2)

    def look_after(self, child: Child) -> None:
        if child.running:
            return
        if child.process is not None:
            code, pause = child.exit_code, child.plan_restart()
            say(child.trouble(f"ended by itself (code {code}) and starts again in {pause:.0f} s"))
            end_group(child)
            child.process = None
        elif time.monotonic() >= child.next_start:
            try:
                self.launch(child)
            except (ServiceError, OSError) as error:
                say(f"{error} Trying again in {child.plan_restart():.0f} s.")

    def stop(self) -> None:
        """Web, workers and scheduler first, then Redis, and PostgreSQL when nobody writes any more."""
        self.stopping = True
        own = [child for child in self.children if not child.url]
        services = [child for child in reversed(self.children) if child.url]
        for group in (own, *([service] for service in services)):
            stop_together(group, lambda: not self.impatient)
        if self.home:
            write_state(self.home, {})
