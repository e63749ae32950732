"""How many GPUs the workers of this machine can use, told without importing torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


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
