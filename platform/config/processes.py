"""The commands of the platform's own processes, and how many workers this machine has room for."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from config import env
from config.env import ROOT
from config.http_limits import MOST_CONNECTIONS, MOST_HEAD_BYTES


@dataclass(frozen=True)
class WorkerSlot:
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


def worker_slots(
    workers: int | None, cores: int, gpus: int, label: str = "worker", runs_per_gpu: int = 1
) -> list[WorkerSlot]:
    """`runs_per_gpu` per GPU where there are GPUs, otherwise one per core; the cores are shared out among them.

    Fewer are spread over all GPUs. No GPU is given to more than that: workers beyond it compute on the CPU.
    """
    places = gpus * runs_per_gpu
    count = workers if workers is not None else places or max(1, cores)
    threads = max(1, cores // max(1, count))
    fast = [
        WorkerSlot(place + 1, "gpu,cpu", f"cuda:{place % gpus}", threads, label) for place in range(min(count, places))
    ]
    return [*fast, *(WorkerSlot(place + 1, "cpu", "cpu", threads, label) for place in range(len(fast), count))]


def own_worker_slots(label: str = "worker") -> list[WorkerSlot]:
    """Those of this machine, as its settings say."""
    return worker_slots(env.WORKERS.read(), core_count(), gpu_count(), label, env.RUNS_PER_GPU.read())


def child_environment(**extra: str) -> dict[str, str]:
    """This process's environment, with the project importable in every descendant."""
    folders = [str(ROOT), str(ROOT / "platform")]
    known = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and each not in folders]
    fixed = {"PYTHONPATH": os.pathsep.join(folders + known), "PYTHONUNBUFFERED": "1"}
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **fixed, **extra}


# Event streams never end by themselves: after two seconds they are cut, and browsers reconnect.
UVICORN_FLAGS = ["--no-access-log", "--no-server-header", "--timeout-graceful-shutdown", "2", "--lifespan", "off"]
HTTP_FLAGS = [
    *("--http", "config.http_protocol:LimitedProtocol", "--ws", "none"),
    *("--h11-max-incomplete-event-size", str(MOST_HEAD_BYTES), "--limit-concurrency", str(MOST_CONNECTIONS)),
]


def web_command(host: str, port: int) -> list[str]:
    """One web process, which opens the port by itself."""
    return uvicorn_command("--host", host, "--port", str(port))


def shared_web_command(descriptor: int) -> list[str]:
    """A web process that is handed the open port, which others may have too."""
    return uvicorn_command("--fd", str(descriptor))


def uvicorn_command(*place: str) -> list[str]:
    flags = [*place, "--log-level", "warning", *proxy_flags(env.TRUSTED_PROXIES.read())]
    return [sys.executable, "-m", "uvicorn", "config.asgi:application", *flags, *UVICORN_FLAGS, *HTTP_FLAGS]


def proxy_flags(proxies: list[str]) -> list[str]:
    """uvicorn by itself believes whatever a program on the same machine says about where a request comes from."""
    return ["--proxy-headers", "--forwarded-allow-ips", ",".join(proxies)] if proxies else ["--no-proxy-headers"]


def worker_command(slot: WorkerSlot) -> list[str]:
    return celery_command(slot.name, slot.queue, "workers.queue.task", "--pool", "solo", "--concurrency", "1")


WORKERS_OF_A_CONNECTION = 4
"""Where calls wait for one another; each worker writes four times a second at most."""


def agent_connections(workers: int) -> int:
    """To PostgreSQL, of a host with so many workers, at most: its agent's, or those of the one worker's two threads."""
    return 2 if workers == 1 else -(-workers // WORKERS_OF_A_CONNECTION)


def agent_command(address: Path, workers: int) -> list[str]:
    connections = ("--connections", str(agent_connections(workers)))
    return [sys.executable, str(ROOT / "manage.py"), "agent", str(address), *connections]


HOUSEKEEPING_THREADS = "6"
"""As many as jobs may be at work at once; each waits for a process or for PostgreSQL most of the time."""


def housekeeping_command() -> list[str]:
    pool = ["--pool", "threads", "--concurrency", HOUSEKEEPING_THREADS]
    return celery_command("housekeeping", "housekeeping", "experiments.housekeeping.tasks", *pool)


def celery_command(name: str, queues: str, tasks: str, *pool: str) -> list[str]:
    quick = ["--without-mingle", "--without-gossip", "--without-heartbeat", "--loglevel", "INFO"]
    host = ["--hostname", f"{name}@{socket.gethostname()}"]
    flags = ["--include", tasks, "--queues", queues, *host, *pool, *quick]
    return [sys.executable, "-m", "celery", "--app", "config.celery", "worker", *flags]


def scheduler_command() -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), "scheduler"]


def prepare_command() -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), "prepare"]


def gpu_count(environ: Mapping[str, str] = os.environ, devices: Path = Path("/dev")) -> int:
    present = len(list(devices.glob("nvidia[0-9]*")))
    chosen = environ.get("CUDA_VISIBLE_DEVICES")
    visible = present if chosen is None else len([each for each in chosen.split(",") if each.strip() not in ("", "-1")])
    return min(present, visible) if torch_can_use_gpus() else 0


def torch_can_use_gpus() -> bool:
    try:
        return not version("torch").endswith("+cpu")
    except PackageNotFoundError:
        return False


def core_count() -> int:
    """The cores this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0))
