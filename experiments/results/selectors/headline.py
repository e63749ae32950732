"""A run in a few numbers: where it ended, where it was best, and what it took."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.labels.metrics import metric_label, sort_metric_names
from experiments.models import Metric
from experiments.results.selectors.costs import BYTES, Cost


@dataclass(frozen=True)
class Peak:
    """A value of one metric, and the round that had it."""

    value: float
    round: int


@dataclass(frozen=True)
class Headline:
    """`metric` is the one that people look at first. Final values are those of the latest round that has them."""

    metric: str
    final: Peak | None
    best: Peak | None
    loss: Peak | None
    bytes: float | None
    seconds: float | None


LOSS = "loss"


def run_headline(*, run: int, names: list[str], costs: list[Cost]) -> Headline:
    """`names` are the metrics that the run has."""
    metric = next(iter(sort_metric_names(names)), "accuracy")
    peaks: dict[str, list[Peak]] = {metric: [], LOSS: []}
    rows = Metric.objects.filter(run_id=run, name__in=peaks).order_by("round").values_list("name", "round", "value")
    for name, number, value in rows:
        peaks[name].append(Peak(value, number))
    totals = {cost.name: cost.total for cost in costs}
    sent = [totals[name] for name in BYTES if name in totals]
    return Headline(
        metric=metric,
        final=last_peak(peaks[metric]),
        best=best_peak(peaks[metric], higher=metric_label(metric).higher_is_better),
        loss=last_peak(peaks[LOSS]) if metric != LOSS else None,
        bytes=sum(sent) if sent else None,
        seconds=totals.get("seconds"),
    )


def last_peak(peaks: list[Peak]) -> Peak | None:
    return peaks[-1] if peaks else None


def best_peak(peaks: list[Peak], *, higher: bool) -> Peak | None:
    """The first of the best; a value that is not finite is never that."""
    finite = [peak for peak in peaks if abs(peak.value) < float("inf")]
    return max(finite, key=lambda peak: peak.value if higher else -peak.value, default=None)
