"""Seconds of a local step for models that have not been run yet: tried in a process of its own, kept on disk."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

from django.core.cache import cache

from experiments.core.subprocesses import ask_module
from experiments.queue.selectors.workers import living_workers
from workers.home import home
from workers.spec import RunSpec
from workers.spec.identity import canonical_digest

FORMAT = 2
MOST_MODELS = 4
"""Models tried in one go; the others are guessed from their size."""
TIMEOUT_SECONDS = 60
RETRY_SECONDS = 600
ONE_AT_A_TIME = Lock()


def saved_step(spec: RunSpec, device_type: str) -> float | None:
    try:
        return float(json.loads((home() / "pace" / f"{calibration_key(spec, device_type)}.json").read_text())["step"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def calibration_key(spec: RunSpec, device_type: str) -> str:
    facts = spec.dataset_facts
    settings = spec.model_dump(
        mode="json", include={"model": True, "precision": True, "local": {"batch_size", "optimizer"}}
    )
    place = {"format": FORMAT, "device": device_type}
    return canonical_digest({**place, "shape": facts.shape, "classes": facts.classes, **settings})


def calibrate(specs: Iterable[RunSpec], device_type: str) -> bool:
    """Tries what is unknown on that type of device, a few models at most.

    False where nothing was tried, or somebody is at it already.
    """
    unknown = {
        key: spec
        for spec in specs
        if not cache.get(failure_key(key := calibration_key(spec, device_type)))
        and saved_step(spec, device_type) is None
    }
    if not unknown or not ONE_AT_A_TIME.acquire(blocking=False):
        return False
    try:
        selected = dict(list(unknown.items())[:MOST_MODELS])
        for key, result in zip(selected, measure_steps(selected, device_type), strict=True):
            save_step(key, result)
    finally:
        ONE_AT_A_TIME.release()
    return True


def measure_steps(specs: Mapping[str, RunSpec], device_type: str) -> list[dict[str, Any]]:
    """No answer, as where torch or the device is not beside the web server, is an answer too."""
    request = {
        "specs": [spec.model_dump(mode="json") for spec in specs.values()],
        "threads": worker_threads(device_type),
        "device": device_type,
    }
    try:
        answers: list[dict[str, Any]] = ask_module("workers.queue.calibrate", request, timeout=TIMEOUT_SECONDS)
    except (subprocess.SubprocessError, ValueError) as error:
        return [{"error": str(error)}] * len(specs)
    return answers


def worker_threads(device_type: str) -> int:
    return min((each.threads for each in living_workers() if each.device_type == device_type), default=1)


def failure_key(key: str) -> str:
    return f"calibration-failed-{key}"


def save_step(key: str, result: Mapping[str, Any]) -> None:
    if "step" not in result:
        cache.set(failure_key(key), True, RETRY_SECONDS)
        return
    folder = home() / "pace"
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{key}"
    draft.write_text(json.dumps(result))
    draft.replace(folder / f"{key}.json")
