"""How fast runs have been: what a client's local step, a round and a run took, measured in runs that are done."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F

from experiments.models import Metric, Run, RunState
from experiments.statistics.sums import SafeSum

MOST_RUNS = 2_000
"""Done runs that are looked at, the newest."""
RUNS_PER_KIND = 12
"""Runs that speak for all of one kind."""
SUMMED_METRICS = ("seconds", "seconds_train", "local_steps", "bytes_up", "bytes_down", "bytes_peer")


@dataclass(frozen=True)
class RunKind:
    """What makes two runs alike in speed."""

    dataset: str
    model: str
    strategy: str
    batch_size: int


@dataclass(frozen=True)
class RunTiming:
    """One done run: seconds in training and in the rest of its rounds, and those outside of any round."""

    kind: RunKind
    spec: dict[str, Any]
    rounds: int
    steps: float
    train_seconds: float
    other_seconds: float
    startup_seconds: float
    bytes: float


def run_timings(*, datasets: Iterable[str], models: Iterable[str], strategies: Iterable[str]) -> list[RunTiming]:
    """Runs with one of those pairs of data set and model, or one of those strategies; a dozen of each kind."""
    pairs = {(dataset, model) for dataset in datasets for model in models}
    methods, selected, counts = set(strategies), [], Counter[RunKind]()
    for run in recent_runs():
        kind = kind_from_spec(run["spec"])
        alike = (kind.dataset, kind.model) in pairs or kind.strategy in methods
        if alike and counts[kind] < RUNS_PER_KIND:
            counts[kind] += 1
            selected.append((kind, run))
    sums = metric_sums([run["pk"] for _, run in selected])
    return [run_timing(kind, run, sums[run["pk"]]) for kind, run in selected if can_time(sums[run["pk"]])]


def can_time(sums: dict[str, float]) -> bool:
    return bool(sums.get("seconds")) and all(map(math.isfinite, sums.values()))


def recent_runs() -> Iterable[dict[str, Any]]:
    done = Run.objects.filter(state=RunState.DONE, started__isnull=False, rounds_done__gt=0)
    return (
        done.order_by("-pk")
        .annotate(took=F("finished") - F("started"))
        .values("pk", "spec", "took", "rounds_done")[:MOST_RUNS]
    )


def kind_from_spec(spec: dict[str, Any]) -> RunKind:
    return RunKind(
        spec["dataset"]["name"], spec["model"]["name"], spec["strategy"]["name"], spec["local"]["batch_size"]
    )


def metric_sums(runs: Sequence[int]) -> dict[int, dict[str, float]]:
    sums: dict[int, dict[str, float]] = defaultdict(dict)
    rows = Metric.objects.filter(run_id__in=runs, name__in=SUMMED_METRICS).order_by().values_list("run_id", "name")
    for run, name, value in rows.annotate(total=SafeSum("value")):
        sums[run][name] = value
    return sums


def run_timing(kind: RunKind, run: dict[str, Any], sums: dict[str, float]) -> RunTiming:
    seconds, train = sums["seconds"], sums.get("seconds_train", sums["seconds"])
    took: timedelta = run["took"]
    return RunTiming(
        kind=kind,
        spec=run["spec"],
        rounds=run["rounds_done"],
        steps=sums.get("local_steps", 0.0),
        train_seconds=train,
        other_seconds=seconds - train,
        startup_seconds=max(0.0, took.total_seconds() - seconds),
        bytes=sum(sums.get(f"bytes_{way}", 0.0) for way in ("up", "down", "peer")),
    )
