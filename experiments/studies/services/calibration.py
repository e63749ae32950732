"""Seconds of a local step for models that have not been run yet: tried in a process of its own, kept on disk."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

from django.core.cache import cache

from experiments.queue.selectors.workers import living
from workers.home import ROOT, home
from workers.spec import RunSpec
from workers.spec.identity import digest

FORMAT = 1
MOST = 4
"""Models tried in one go; the others are guessed from their size."""
PATIENCE = 60
TRY_AGAIN = 600
ONE_AT_A_TIME = Lock()


def kept_step(spec: RunSpec) -> float | None:
    try:
        return float(json.loads((home() / "pace" / f"{key_of(spec)}.json").read_text())["step"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def key_of(spec: RunSpec) -> str:
    facts = spec.dataset_facts
    tried = spec.model_dump(
        mode="json", include={"model": True, "precision": True, "local": {"batch_size", "optimizer"}}
    )
    return digest({"format": FORMAT, "shape": facts.shape, "classes": facts.classes, **tried})


def calibrate(specs: Iterable[RunSpec]) -> bool:
    """Tries what is unknown, a few models at most. False where nothing was tried, or somebody is at it already."""
    unknown = {key: spec for spec in specs if not cache.get(failure(key := key_of(spec))) and kept_step(spec) is None}
    if not unknown or not ONE_AT_A_TIME.acquire(blocking=False):
        return False
    try:
        chosen = dict(list(unknown.items())[:MOST])
        for key, found in zip(chosen, measured(chosen), strict=True):
            keep(key, found)
    finally:
        ONE_AT_A_TIME.release()
    return True


def measured(specs: Mapping[str, RunSpec]) -> list[dict[str, Any]]:
    """No answer, as where torch is not installed beside the web server, is an answer too."""
    wanted = {"specs": [spec.model_dump(mode="json") for spec in specs.values()], "threads": threads_of_a_worker()}
    command = [sys.executable, "-m", "workers.queue.calibrate"]
    try:
        done = subprocess.run(
            command, input=json.dumps(wanted), capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, check=True
        )
        answers: list[dict[str, Any]] = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        return [{"error": str(error)}] * len(specs)
    return answers


def threads_of_a_worker() -> int:
    return min(living().values_list("threads", flat=True), default=1)


def failure(key: str) -> str:
    return f"calibration-failed-{key}"


def keep(key: str, found: Mapping[str, Any]) -> None:
    if "step" not in found:
        cache.set(failure(key), True, TRY_AGAIN)
        return
    folder = home() / "pace"
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{key}"
    draft.write_text(json.dumps(found))
    draft.replace(folder / f"{key}.json")
