"""How fast runs have been: what a client's local step, a round and a run took, measured in runs that are done."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F, Sum

from experiments.models import Metric, Run, RunState

RECENT = 2_000
"""Done runs that are looked at, the newest."""
EACH = 12
"""Runs that speak for all of one kind."""
NAMES = ("seconds", "seconds_train", "local_steps", "bytes_up", "bytes_down", "bytes_peer")


@dataclass(frozen=True)
class Kind:
    """What makes two runs alike in speed."""

    dataset: str
    model: str
    strategy: str
    batch_size: int


@dataclass(frozen=True)
class Measured:
    """One done run: seconds in training and in the rest of its rounds, and those outside of any round."""

    kind: Kind
    spec: dict[str, Any]
    rounds: int
    steps: float
    train: float
    beside: float
    outside: float
    bytes: float


def measured_runs(*, datasets: Iterable[str], models: Iterable[str], strategies: Iterable[str]) -> list[Measured]:
    """Runs with one of those pairs of data set and model, or one of those strategies; a dozen of each kind."""
    wanted = {(dataset, model) for dataset in datasets for model in models}
    methods, found, taken = set(strategies), [], Counter[Kind]()
    for run in recent_runs():
        kind = kind_of(run["spec"])
        alike = (kind.dataset, kind.model) in wanted or kind.strategy in methods
        if alike and taken[kind] < EACH:
            taken[kind] += 1
            found.append((kind, run))
    sums = summed([run["pk"] for _, run in found])
    return [measured(kind, run, sums[run["pk"]]) for kind, run in found if sums[run["pk"]].get("seconds")]


def recent_runs() -> Iterable[dict[str, Any]]:
    done = Run.objects.filter(state=RunState.DONE, started__isnull=False, rounds_done__gt=0)
    return (
        done.order_by("-pk")
        .annotate(took=F("finished") - F("started"))
        .values("pk", "spec", "took", "rounds_done")[:RECENT]
    )


def kind_of(spec: dict[str, Any]) -> Kind:
    return Kind(spec["dataset"]["name"], spec["model"]["name"], spec["strategy"]["name"], spec["local"]["batch_size"])


def summed(runs: Sequence[int]) -> dict[int, dict[str, float]]:
    sums: dict[int, dict[str, float]] = defaultdict(dict)
    rows = Metric.objects.filter(run_id__in=runs, name__in=NAMES).order_by().values_list("run_id", "name")
    for run, name, value in rows.annotate(total=Sum("value")):
        sums[run][name] = value
    return sums


def measured(kind: Kind, run: dict[str, Any], sums: dict[str, float]) -> Measured:
    seconds, train = sums["seconds"], sums.get("seconds_train", sums["seconds"])
    took: timedelta = run["took"]
    return Measured(
        kind=kind,
        spec=run["spec"],
        rounds=run["rounds_done"],
        steps=sums.get("local_steps", 0.0),
        train=train,
        beside=seconds - train,
        outside=max(0.0, took.total_seconds() - seconds),
        bytes=sum(sums.get(f"bytes_{way}", 0.0) for way in ("up", "down", "peer")),
    )
