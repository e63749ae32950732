"""What a run cost: bytes over the wire, seconds by phase, local steps and samples, summed over its rounds."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from experiments.models import Metric
from experiments.statistics.sums import SafeSum

BYTES = ("bytes_up", "bytes_down", "bytes_peer")
PHASES = ("seconds_train", "seconds_aggregate", "seconds_evaluate")
WORK = ("local_steps", "samples_seen")
COSTS = (*BYTES, "seconds", *PHASES, *WORK)


@dataclass(frozen=True)
class Cost:
    """Of all rounds together; `rounds` is how many told it."""

    name: str
    total: float
    rounds: int

    @property
    def mean(self) -> float:
        return self.total / self.rounds


def run_costs(*, run: int) -> list[Cost]:
    """In the order of `COSTS`; what was never told is left out."""
    values = Metric.objects.filter(run_id=run, name__in=COSTS)
    costs = {
        row["name"]: Cost(row["name"], row["total"], row["rounds"])
        for row in values.values("name").annotate(total=SafeSum("value"), rounds=Count("round")).order_by()
    }
    return [costs[name] for name in COSTS if name in costs]


def cumulated_costs(*, run: int, names: tuple[str, ...]) -> dict[str, list[tuple[int, float]]]:
    """Round and sum up to it, by metric."""
    values = Metric.objects.filter(run_id=run, name__in=names).order_by("name", "round")
    sums: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
    for name, number, value in values.values_list("name", "round", "value"):
        so_far = sums[name][-1][1] if sums[name] else 0.0
        sums[name].append((number, so_far + value))
    return {name: points for name, points in sums.items() if points}
