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
from typing import Any

import psutil

from workers.child_environment import environment_without_secrets
from workers.machine import package_versions, processor_name
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
        return Reading(
            min(1.0, used / elapsed / self.threads), sum(map(resident_memory, family)), *read_gpu_use(self.device)
        )


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


def resident_memory(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def read_gpu_use(device: str) -> tuple[float | None, int | None]:
    if (answers := query_gpu(device, "utilization.gpu", "memory.used")) is None:
        return None, None
    use, memory = answers
    return parse_number(use, 0.01), parse_mebibytes(memory)


def slot_facts(device: str) -> dict[str, Any]:
    """What a slot is made of, told once at its start."""
    facts: dict[str, Any] = {
        "device": processor_name(),
        "memory": allowed_memory(),
        "versions": {"python": platform.python_version(), **package_versions(PACKAGES)},
    }
    if gpu := query_gpu(device, "name", "memory.total"):
        facts |= {"device": gpu[0], "gpu_memory": parse_mebibytes(gpu[1])}
    return facts


def query_gpu(device: str, *questions: str) -> list[str] | None:
    """The driver's answers about a device such as cuda:1; None on a CPU, or where the driver's tool does not answer."""
    program = shutil.which("nvidia-smi")
    if not device.startswith("cuda") or program is None:
        return None
    flags = ["--query-gpu=" + ",".join(questions), "--format=csv,noheader,nounits", "-i", physical_device(device)]
    try:
        answer = subprocess.run(
            [program, *flags],
            env=environment_without_secrets(),
            capture_output=True,
            text=True,
            timeout=SMI_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    answers = [each.strip() for each in answer.stdout.strip().split(",")]
    return answers if len(answers) == len(questions) else None


def physical_device(device: str, environ: Mapping[str, str] = os.environ) -> str:
    """CUDA counts only the visible devices, the driver all of them."""
    place = int(device.partition(":")[2] or 0)
    visible = [each.strip() for each in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.strip()]
    return visible[place] if place < len(visible) else str(place)


def parse_number(text: str, unit: float) -> float | None:
    """The driver says "[N/A]" where it cannot tell."""
    try:
        return float(text) * unit
    except ValueError:
        return None


def parse_mebibytes(mebibytes: str) -> int | None:
    size = parse_number(mebibytes, MEBIBYTE)
    return None if size is None else int(size)
