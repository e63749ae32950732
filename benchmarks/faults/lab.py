"""The platform that is broken: web server, scheduler and two workers as processes, the first worker behind a cable."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import psutil
from config.home import Home
from config.processes import scheduler_command
from config.services.postgres import PROOF, Postgres
from config.services.redis import Redis

from benchmarks.faults.proxy import Proxy
from experiments.models import Role, User
from tests.live import LivePlatform

FIRST, SECOND = WORKERS = ("worker-1", "worker-2")
QUIET_SECONDS = 0.3


@dataclass
class Lab:
    postgres: Postgres
    redis: Redis
    platform: LivePlatform
    cable: Proxy
    owner: User = field(default_factory=lambda: User.objects.create(username="fault", role=Role.MEMBER))

    settings: dict[str, dict[str, str]] = field(default_factory=dict)
    """Further environment variables, by worker."""

    def start_worker(self, name: str) -> None:
        extra = {"DATABASE_URL": self.behind_cable()} if name == FIRST else {}
        self.platform.start_worker(int(name.partition("-")[2]), **extra, **self.settings.get(name, {}))

    def use_settings(self, settings: Mapping[str, dict[str, str]]) -> None:
        if self.settings == settings:
            return
        self.settings = dict(settings)
        self.platform.stop(*[name for name in WORKERS if name in self.platform.processes])
        for name in WORKERS:
            self.start_worker(name)

    def behind_cable(self) -> str:
        url = urlsplit(self.platform.environment["DATABASE_URL"])
        return url._replace(netloc=f"{url.netloc}127.0.0.1:{self.cable.port}", query=PROOF).geturl()

    def process(self, name: str) -> subprocess.Popen[bytes]:
        return self.platform.processes[name]

    def runner_pid(self, name: str) -> int | None:
        """The process that computes; None while there is none."""
        children = psutil.Process(self.process(name).pid).children()
        return children[0].pid if children else None

    def is_idle(self) -> bool:
        """Whether each worker's process is there and computes nothing, its imports included."""
        before = self.cpu_use()
        time.sleep(QUIET_SECONDS)
        return None not in before and self.cpu_use() == before

    def cpu_use(self) -> list[tuple[int, float] | None]:
        """Each worker's process and its CPU seconds; None where there is none, or it goes at this moment."""
        return [cpu_seconds(self.runner_pid(name)) for name in WORKERS]

    def follow_logs(self, *names: str) -> Callable[[], str]:
        """What the workers write into their logs from now on."""
        workers = names or WORKERS
        before = {name: len(self.platform.log(name)) for name in workers}
        return lambda: "".join(self.platform.log(name)[before[name] :] for name in workers)

    def kill(self, name: str) -> None:
        """With all below it, the parent first: it must not notice that a child is gone."""
        process = self.platform.processes.pop(name)
        family = [process.pid, *(each.pid for each in psutil.Process(process.pid).children(recursive=True))]
        for pid in family:
            send_signal(pid, signal.SIGKILL)
        process.wait()


def send_signal(pid: int | None, number: signal.Signals) -> None:
    """To a process that may be gone."""
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def cpu_seconds(pid: int | None) -> tuple[int, float] | None:
    with suppress(psutil.Error):
        if pid is not None:
            times = psutil.Process(pid).cpu_times()
            return pid, times.user + times.system
    return None


@contextmanager
def start_lab(home: Home, postgres: Postgres, redis: Redis) -> Iterator[Lab]:
    cable = Proxy(postgres.socket)
    platform = LivePlatform(home)
    lab = Lab(postgres, redis, platform, cable)
    try:
        platform.start_web()
        platform.start("scheduler", scheduler_command())
        for name in WORKERS:
            lab.start_worker(name)
        yield lab
    finally:
        platform.stop()
        cable.close()
