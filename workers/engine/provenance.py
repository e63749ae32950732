"""Where numbers came from: versions, machine, device and engine. Nothing that names the host, a person or a folder."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import torch

from workers.child_environment import environment_without_secrets
from workers.engine.execution.threads import thread_count
from workers.engine_version import ENGINE_VERSION
from workers.machine import package_versions, processor_name

PACKAGES = ("flwr", "llvmlite", "numba", "numpy", "ray", "safetensors", "scikit-learn", "scipy", "torch", "torchvision")
ROOT = Path(__file__).resolve().parents[2]
GIT_SECONDS = 5


def run_provenance(*, engine: str, device: str, seconds: float, data_checksum: str) -> dict[str, Any]:
    """`engine` is what computed the run, `seconds` its wall time over all attempts."""
    return {
        "engine": engine,
        "engine_version": ENGINE_VERSION,
        "data_checksum": data_checksum,
        "device": str(device),
        "device_name": device_name(str(device)),
        "seconds": seconds,
        **machine_facts(),
        "packages": package_versions(PACKAGES),
        "commit": git_commit(),
    }


def machine_facts() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": processor_name(),
        "threads": thread_count(),
    }


def device_name(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else processor_name()


@cache
def git_commit(root: Path = ROOT) -> str | None:
    """The checked-out commit, `+` where files differ from it, None outside a repository."""
    if not (root / ".git").exists():
        return None
    head = git_output(root, "rev-parse", "HEAD")
    return head and head + ("+" if git_output(root, "status", "--porcelain", "--untracked-files=no") else "")


def git_output(root: Path, *arguments: str) -> str | None:
    try:
        process = subprocess.run(
            ["git", *arguments],
            cwd=root,
            env=environment_without_secrets(),
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip()
