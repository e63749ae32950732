"""Seconds of a local step for models that have not been run yet: tried in the background, kept on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from experiments.housekeeping.services.attempts import JobAttempt
from experiments.housekeeping.services.jobs import job_add
from experiments.models import Job, JobKind, JobState
from experiments.queue.selectors.workers import living_workers
from workers.errors import TributaryError
from workers.home import home
from workers.spec import RunSpec
from workers.spec.identity import canonical_digest

FORMAT = 2
MOST_MODELS = 4
"""Models tried for one plan; the others are guessed from their size."""
TIMEOUT_SECONDS = 60
RETRY_AFTER = timedelta(minutes=10)


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


def calibration_request(specs: Iterable[RunSpec], device_type: str) -> bool:
    """Asks for trials of what is unknown on that type of device, a few models at most; whether any is awaited."""
    unknown = {
        key: spec
        for spec in specs
        if saved_step(spec, device_type) is None and not has_failed(key := calibration_key(spec, device_type))
    }
    for key, spec in list(unknown.items())[:MOST_MODELS]:
        request = {"spec": spec.model_dump(mode="json"), "device": device_type}
        job_add(kind=JobKind.CALIBRATION, subject=key, request=request)
    return bool(unknown)


def has_failed(key: str) -> bool:
    """Lately, as where torch or the device is not beside the housekeeping process: its size has to do."""
    jobs = Job.objects.filter(kind=JobKind.CALIBRATION, subject=key, state=JobState.FAILED)
    return jobs.filter(finished__gt=Now() - RETRY_AFTER).exists()


def calibration_work(attempt: JobAttempt) -> str:
    """Tries one model for some seconds and keeps its pace."""
    spec, device = attempt.job.request["spec"], attempt.job.request["device"]
    request = {"specs": [spec], "threads": worker_threads(device), "device": device}
    (result,) = attempt.ask_module("workers.queue.calibrate", request, timeout=TIMEOUT_SECONDS)
    if "step" not in result:
        raise TributaryError(str(result.get("error", "No answer.")))
    save_step(attempt.job.subject, result)
    return ""


def worker_threads(device_type: str) -> int:
    return min((each.threads for each in living_workers() if each.device_type == device_type), default=1)


def save_step(key: str, result: Mapping[str, Any]) -> None:
    folder = home() / "pace"
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{key}"
    draft.write_text(json.dumps(result))
    draft.replace(folder / f"{key}.json")
