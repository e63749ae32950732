"""The commands of the platform's own processes: web server, workers, scheduler."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass

from config.env import ROOT


@dataclass(frozen=True)
class Slot:
    """One worker process: it takes one run at a time, on its CPU threads or its GPU."""

    number: int
    queue: str
    device: str
    threads: int
    label: str = "worker"

    @property
    def name(self) -> str:
        return f"{self.label}-{self.number}"

    @property
    def environment(self) -> dict[str, str]:
        return {"TRIBUTARY_DEVICE": self.device, "TRIBUTARY_THREADS": str(self.threads)}


def slots(workers: int | None, cores: int, gpus: int, label: str = "worker") -> list[Slot]:
    """One per GPU where there are GPUs, otherwise one per core; the cores are shared out among them.

    No GPU is given to two: workers beyond the GPUs compute on the CPU.
    """
    count = workers if workers is not None else gpus or max(1, cores)
    threads = max(1, cores // max(1, count))
    fast = [Slot(place + 1, "gpu,cpu", f"cuda:{place}", threads, label) for place in range(min(count, gpus))]
    return [*fast, *(Slot(place + 1, "cpu", "cpu", threads, label) for place in range(len(fast), count))]


def environment(**extra: str) -> dict[str, str]:
    """This process's environment, with the project importable in every descendant."""
    folders = [str(ROOT), str(ROOT / "platform")]
    known = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and each not in folders]
    fixed = {"PYTHONPATH": os.pathsep.join(folders + known), "PYTHONUNBUFFERED": "1"}
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **fixed, **extra}


# Event streams never end by themselves: after two seconds they are cut, and browsers reconnect.
UVICORN = ["--no-access-log", "--no-server-header", "--timeout-graceful-shutdown", "2"]


def web_command(host: str, port: int) -> list[str]:
    flags = ["--host", host, "--port", str(port), "--lifespan", "off", "--log-level", "warning"]
    return [sys.executable, "-m", "uvicorn", "config.asgi:application", *flags, *UVICORN]


def worker_command(slot: Slot) -> list[str]:
    quick = ["--without-mingle", "--without-gossip", "--without-heartbeat"]
    name = f"{slot.name}@{socket.gethostname()}"
    flags = ["--pool", "solo", "--concurrency", "1", "--queues", slot.queue, "--hostname", name, "--loglevel", "INFO"]
    return [sys.executable, "-m", "celery", "--app", "config.celery", "worker", *flags, *quick]


def scheduler_command() -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), "scheduler"]


def prepare_command() -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), "prepare"]
