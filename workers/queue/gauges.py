"""What a slot uses: its runner's share of the CPU threads, memory, and its GPU. Knows nothing of torch."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from workers.memory import allowed_memory

PACKAGES = ("torch", "flwr", "ray")
SMI_SECONDS = 5.0
MEBIBYTE = 2**20


@dataclass(frozen=True)
class Reading:
    """`cpu` is the share of the slot's threads, `gpu` of its device; memory in bytes."""

    cpu: float
    memory: int
    gpu: float | None = None
    gpu_memory: int | None = None


class Gauge:
    """Reads what this process and its runner use; the CPU share is the mean since the last reading, or the start."""

    def __init__(self, device: str, threads: int) -> None:
        self.device, self.threads = device, threads
        self.spent = {os.getpid(): cpu_seconds(psutil.Process()) or 0.0}
        self.read_at = time.monotonic()

    def read(self, runner: int | None) -> Reading:
        family = [psutil.Process(), *(descendants(runner) if runner else [])]
        spent = {each.pid: seconds for each in family if (seconds := cpu_seconds(each)) is not None}
        used = sum(max(0.0, seconds - self.spent.get(pid, 0.0)) for pid, seconds in spent.items())
        now = time.monotonic()
        elapsed = max(1e-9, now - self.read_at)
        self.spent, self.read_at = spent, now
        return Reading(min(1.0, used / elapsed / self.threads), sum(map(resident, family)), *gpu_use(self.device))


def descendants(pid: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def cpu_seconds(process: psutil.Process) -> float | None:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return None


def resident(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def gpu_use(device: str) -> tuple[float | None, int | None]:
    if (found := ask_gpu(device, "utilization.gpu", "memory.used")) is None:
        return None, None
    use, memory = found
    return number(use, 0.01), whole(memory)


def facts(device: str) -> dict[str, Any]:
    """What a slot is made of, told once at its start."""
    found: dict[str, Any] = {
        "device": processor(),
        "memory": allowed_memory(),
        "versions": {"python": platform.python_version(), **packages()},
    }
    if told := ask_gpu(device, "name", "memory.total"):
        found |= {"device": told[0], "gpu_memory": whole(told[1])}
    return found


def processor() -> str:
    """As Linux names it; elsewhere the architecture."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def packages() -> dict[str, str]:
    known = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            known[name] = version(name)
    return known


def ask_gpu(device: str, *questions: str) -> list[str] | None:
    """The driver's answers about a device such as cuda:1; None on a CPU, or where the driver's tool does not answer."""
    program = shutil.which("nvidia-smi")
    if not device.startswith("cuda") or program is None:
        return None
    chosen = ["--query-gpu=" + ",".join(questions), "--format=csv,noheader,nounits", "-i", physical(device)]
    try:
        told = subprocess.run([program, *chosen], capture_output=True, text=True, timeout=SMI_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    answers = [each.strip() for each in told.stdout.strip().split(",")]
    return answers if len(answers) == len(questions) else None


def physical(device: str, environ: Mapping[str, str] = os.environ) -> str:
    """CUDA counts only the visible devices, the driver all of them."""
    place = int(device.partition(":")[2] or 0)
    visible = [each.strip() for each in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.strip()]
    return visible[place] if place < len(visible) else str(place)


def number(text: str, unit: float) -> float | None:
    """The driver says "[N/A]" where it cannot tell."""
    try:
        return float(text) * unit
    except ValueError:
        return None


def whole(mebibytes: str) -> int | None:
    found = number(mebibytes, MEBIBYTE)
    return None if found is None else int(found)
