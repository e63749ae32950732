"""How fast runs have been: what a client's local step, a round and a run took, measured in runs that are done."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from experiments.models import Attempt, Metric, Run, RunState
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
    device_type: str = "cpu"


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


@dataclass(frozen=True)
class AppTiming:
    """One done run of a lab's own app: seconds in its rounds and outside of them."""

    name: str
    clients: int
    rounds: int
    seconds: float
    startup_seconds: float
    bytes: float


def run_timings(*, datasets: Iterable[str], models: Iterable[str], strategies: Iterable[str]) -> list[RunTiming]:
    """Runs with one of those pairs of data set and model, or one of those strategies; a dozen of each kind."""
    pairs = {(dataset, model) for dataset in datasets for model in models}
    methods, selected, counts = set(strategies), [], Counter[RunKind]()
    for run in recent_runs().filter(spec__app__isnull=True)[:MOST_RUNS]:
        kind = kind_from_spec(run["spec"], run["device_type"])
        alike = (kind.dataset, kind.model) in pairs or kind.strategy in methods
        if alike and counts[kind] < RUNS_PER_KIND:
            counts[kind] += 1
            selected.append((kind, run))
    sums = metric_sums([run["pk"] for _, run in selected])
    return [run_timing(kind, run, sums[run["pk"]]) for kind, run in selected if can_time(sums[run["pk"]])]


def can_time(sums: dict[str, float]) -> bool:
    return bool(sums.get("seconds")) and all(map(math.isfinite, sums.values()))


def recent_runs() -> QuerySet[Run, dict[str, Any]]:
    done = Run.objects.filter(state=RunState.DONE, started__isnull=False, rounds_done__gt=0)
    attempts = Attempt.objects.filter(run=OuterRef("pk")).order_by().values("run")
    worked = Subquery(attempts.annotate(took=Sum(F("ended") - F("started"))).values("took"))
    return (
        done.order_by("-pk")
        # Without the time in which a run waited to go on; a run that was brought from elsewhere has no attempts.
        .annotate(took=Coalesce(worked, F("finished") - F("started")))
        .values("pk", "spec", "device_type", "took", "rounds_done")
    )


def kind_from_spec(spec: dict[str, Any], device_type: str) -> RunKind:
    """Where nobody wrote down what computed it, a CPU did."""
    dataset, model, strategy = (spec[kind]["name"] for kind in ("dataset", "model", "strategy"))
    return RunKind(dataset, model, strategy, spec["local"]["batch_size"], device_type or "cpu")


def metric_sums(runs: Sequence[int]) -> dict[int, dict[str, float]]:
    sums: dict[int, dict[str, float]] = defaultdict(dict)
    rows = Metric.objects.filter(run_id__in=runs, name__in=SUMMED_METRICS).order_by().values_list("run_id", "name")
    for run, name, value in rows.annotate(total=SafeSum("value")):
        sums[run][name] = value
    return sums


def run_timing(kind: RunKind, run: dict[str, Any], sums: dict[str, float]) -> RunTiming:
    seconds, train = sums["seconds"], sums.get("seconds_train", sums["seconds"])
    return RunTiming(
        kind=kind,
        spec=run["spec"],
        rounds=run["rounds_done"],
        steps=sums.get("local_steps", 0.0),
        train_seconds=train,
        other_seconds=seconds - train,
        startup_seconds=seconds_outside(run["took"], seconds),
        bytes=all_bytes(sums),
    )


def seconds_outside(took: timedelta, seconds: float) -> float:
    return max(0.0, took.total_seconds() - seconds)


def all_bytes(sums: dict[str, float]) -> float:
    return sum(sums.get(f"bytes_{way}", 0.0) for way in ("up", "down", "peer"))


def app_timings(*, apps: Iterable[str]) -> list[AppTiming]:
    """The newest done runs of each of these apps."""
    runs = [run for name in sorted(apps) for run in recent_runs().filter(spec__app__name=name)[:RUNS_PER_KIND]]
    sums = metric_sums([run["pk"] for run in runs])
    return [app_timing(run, sums[run["pk"]]) for run in runs if can_time(sums[run["pk"]])]


def app_timing(run: dict[str, Any], sums: dict[str, float]) -> AppTiming:
    app, seconds = run["spec"]["app"], sums["seconds"]
    outside = seconds_outside(run["took"], seconds)
    return AppTiming(app["name"], app["clients"], run["rounds_done"], seconds, outside, all_bytes(sums))
