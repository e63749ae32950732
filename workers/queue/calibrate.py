"""`python -m workers.queue.calibrate`: how long a local step takes here, tried on made data in a process of its own.

Takes `{"specs": [{...}], "threads": n, "device": "cpu" or "cuda"}` as JSON and answers with `{"step": seconds}` (of one
client's local step) or `{"error": text}` for each.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from workers.errors import StopRequested, TributaryError
from workers.spec import RunSpec, parse_run
from workers.spec.workload import parameter_count

TRIAL_SECONDS = 1.5
TRIAL_ROUNDS = 40
SMALL_MODEL = 200_000
SMALL_TRIAL, LARGE_TRIAL = (16, 3), (2, 1)
"""Clients and batches: many steps of a large model would keep a person waiting."""


def trial_spec(spec: RunSpec) -> RunSpec:
    """The same model, optimizer and batch size on a few clients with some batches of made data each."""
    facts = spec.dataset_facts
    most_clients, batches = SMALL_TRIAL if parameter_count(spec) < SMALL_MODEL else LARGE_TRIAL
    clients = min(spec.cohort_size, most_clients)
    samples = max(facts.classes, clients * batches * spec.local.batch_size)
    blobs = {"shape": list(facts.shape), "classes": facts.classes, "train": samples, "test": 1}
    return parse_run(
        {
            "dataset": {"name": "blobs", **blobs},
            "model": spec.model.model_dump(mode="json"),
            "strategy": {"name": "fedavg"},
            "clients": clients,
            "rounds": TRIAL_ROUNDS,
            "local": {**spec.local.model_dump(mode="json"), "epochs": 1, "steps": None},
            "evaluation": {"every": TRIAL_ROUNDS},
            "precision": spec.precision,
            "engine": "auto" if spec.engine == "ray" else spec.engine,
        }
    )


def measure_step_seconds(spec: RunSpec, device: str) -> float:
    """Over the rounds that fit into the trial's time, without the first, which pays for everything new."""
    from workers.engine import simulate
    from workers.engine.records import RoundRecord

    rounds: list[RoundRecord] = []
    until = [float("inf")]

    def on_round(record: RoundRecord) -> None:
        if record.round:
            rounds.append(record)
            until[0] = min(until[0], time.monotonic() + TRIAL_SECONDS)

    with suppress(StopRequested):
        simulate(spec, on_round=on_round, device=device, stop=lambda: time.monotonic() > until[0])
    return mean_step_seconds(rounds[1:] or rounds)


def mean_step_seconds(rounds: Sequence[Any]) -> float:
    if not rounds:
        raise TributaryError("No round came to its end.")
    train = sum(record.metrics["seconds_train"] for record in rounds)
    steps = sum(record.metrics["local_steps"] for record in rounds)
    return float(train / max(1.0, steps))


def calibrate_spec(data: dict[str, Any], device: str = "cpu") -> dict[str, Any]:
    try:
        return {"step": measure_step_seconds(trial_spec(parse_run(data)), device)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    request = json.load(sys.stdin)
    # Before torch is imported, which reads it once.
    os.environ["OMP_NUM_THREADS"] = os.environ["TRIBUTARY_THREADS"] = str(request["threads"])
    answers = [calibrate_spec(spec, request["device"]) for spec in request["specs"]]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
