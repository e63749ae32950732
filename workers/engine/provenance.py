"""Where numbers came from: versions, machine, device and path. Nothing that names the host, a person or a folder."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

PACKAGES = ("flwr", "numpy", "ray", "safetensors", "scikit-learn", "scipy", "torch", "torchvision")
ROOT = Path(__file__).resolve().parents[2]
GIT_SECONDS = 5


def provenance(*, engine: str, device: str, seconds: float) -> dict[str, Any]:
    """`engine` is the path that computed the run, `seconds` its wall time over all attempts."""
    return {
        "engine": engine,
        "device": str(device),
        "device_name": device_name(str(device)),
        "seconds": seconds,
        **machine(),
        "packages": packages(),
        "commit": commit(),
    }


def machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_model(),
        "threads": torch.get_num_threads(),
    }


def device_name(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else cpu_model()


@cache
def cpu_model(source: Path = Path("/proc/cpuinfo")) -> str:
    if source.is_file():
        for line in source.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


@cache
def packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def commit(root: Path = ROOT) -> str | None:
    """The checked-out commit, `+` where files differ from it, None outside a repository."""
    if not (root / ".git").exists():
        return None
    head = git(root, "rev-parse", "HEAD")
    return head and head + ("+" if git(root, "status", "--porcelain", "--untracked-files=no") else "")


def git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
