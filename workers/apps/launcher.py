"""How an app's process is started: which interpreter, which environment, and what it is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workers import TELEMETRY_OFF
from workers.apps.environments import app_interpreter
from workers.apps.leftovers import MARK
from workers.apps.library import find_version
from workers.apps.package import SEED_KEY, AppPackage

ROOT = Path(__file__).resolve().parents[2]
MODULE = "workers.apps.runtime.process"
PASSED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "RAY_ADDRESS")
PASSED_PREFIXES = ("CUDA_", "NVIDIA_", "HF_", "XDG_", "JAX_", "XLA_", "KERAS_", "TF_", "TRIBUTARY_RAY_")
PASSED_BY_WISH = "TRIBUTARY_APP_ENVIRONMENT"
NEVER = ("SECRET", "PASSWORD", "TOKEN", "DATABASE_URL", "REDIS_URL", "TRIBUTARY_AGENT")


def app_command(package: AppPackage) -> list[str]:
    return [str(app_interpreter(package)), "-m", MODULE]


def app_environment(mark: str, device: str = "cpu") -> dict[str, str]:
    """Nothing of the platform's own: its passwords and addresses are none of an app's business.

    Hashes of text are fixed, so that sets of names have the same order in every process.
    """
    wished = os.environ.get(PASSED_BY_WISH, "").replace(",", " ").split()
    passed = {
        name: value
        for name, value in os.environ.items()
        if (name in PASSED or name in wished or name.startswith(PASSED_PREFIXES))
        and not any(word in name.upper() for word in NEVER)
    }
    if device.startswith("cuda:"):
        passed["CUDA_VISIBLE_DEVICES"] = device.removeprefix("cuda:")
    elif device == "cpu":
        passed["CUDA_VISIBLE_DEVICES"] = ""
    return {
        **passed,
        **TELEMETRY_OFF,
        MARK: mark,
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "OMP_NUM_THREADS": "1",
    }


def app_job(spec: Mapping[str, Any], digest: str) -> tuple[AppPackage, dict[str, Any]]:
    """The version that the run was launched with, and what its process is told of it."""
    app = spec["app"]
    package = find_version(app["name"], digest)
    config = {**app["config"], **({SEED_KEY: spec["seed"]} if package.takes_seed else {})}
    return package, {
        "folder": str(package.folder),
        "serverapp": package.serverapp,
        "clientapp": package.clientapp,
        "hash": package.hash,
        "config": config,
        "clients": app["clients"],
        "seed": spec["seed"],
        "metrics": app.get("metrics", {}),
        "engine": spec["engine"],
    }


def is_own_interpreter(interpreter: Path) -> bool:
    return interpreter == Path(sys.executable)
