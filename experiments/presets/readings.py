"""A printed number's counterpart in measured curves, bytes saved among them. Pure; accuracies are fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import fmean, stdev, variance
from typing import Any

from experiments.presets.preset import ArgMax, At, Converge, Count, Final, Max, OneRun, Over, Reach
from experiments.statistics.intervals import Sample
from workers.clustering.convergence import Effort, bytes_saved, has_converged

Curve = Mapping[int, float]
Curves = Mapping[str, Curve]
"""By metric: the value of each round, in order of rounds."""


def read(reading: OneRun, curves: Curves) -> float | None:
    """That number of one run, or None where its curves do not have it; not finite where a needed value is not."""
    found = [READERS[type(reading)](reading, trained(curve)) for curve in chosen(reading.metric, curves)]
    known = [value for value in found if value is not None]
    return fmean(known) if known and len(known) == len(found) else None


def sample_of(reading: OneRun, seeds: Mapping[int, Curves], scale: float = 1.0) -> Sample:
    """That number of each seed; those that are not finite, or never got there, are counted."""
    values = {seed: read(reading, curves) for seed, curves in seeds.items()}
    known = {seed: value * scale for seed, value in values.items() if value is not None}
    finite = {seed: value for seed, value in known.items() if math.isfinite(value)}
    return Sample(finite, lost=len(known) - len(finite), missed=len(values) - len(known))


def chosen(metric: str, curves: Curves) -> list[Curve]:
    if metric.endswith("*"):
        return [curve for name, curve in curves.items() if name.startswith(metric[:-1])]
    return [curves[metric]] if metric in curves else []


def trained(curve: Curve) -> dict[int, float]:
    """Without round 0, the evaluation before training."""
    return {number: value for number, value in sorted(curve.items()) if number}


def final(reading: Final, curve: Curve) -> float | None:
    return curve[max(curve)] if curve else None


def at(reading: At, curve: Curve) -> float | None:
    return curve.get(reading.round)


def best(reading: Max, curve: Curve) -> float | None:
    finite = [value for value in curve.values() if math.isfinite(value)]
    return max(finite) if finite else None


def best_round(reading: ArgMax, curve: Curve) -> float | None:
    top = best(Max(take="max"), curve)
    return next((float(number) for number, value in curve.items() if value == top), None)


def over(reading: Over, curve: Curve) -> float | None:
    """All rounds of the range that an evaluated run can have must be there: a shorter run has no such number."""
    values = [value for number, value in curve.items() if reading.first <= number <= reading.last]
    if not curve or max(curve) < reading.last or len(values) < 2:
        return None
    return fmean(values) if reading.take == "mean" else variance(values)


def reach(reading: Reach, curve: Curve) -> float | None:
    return next((float(number) for number, value in curve.items() if value >= reading.target), None)


def converge(reading: Converge, curve: Curve) -> float | None:
    rounds = pairwise(curve)
    return next(
        (float(now) for before, now in rounds if has_converged(curve[before], curve[now], reading.tolerance)), None
    )


def count(reading: Count, curve: Curve) -> float | None:
    return float(sum(value > 0 for value in curve.values())) if curve else None


READERS: dict[type[OneRun], Callable[[Any, Curve], float | None]] = {
    Final: final,
    At: at,
    Max: best,
    ArgMax: best_round,
    Over: over,
    Reach: reach,
    Converge: converge,
    Count: count,
}


BYTES = ("bytes_up", "bytes_down", "bytes_peer")
DETECTORS = "athena.detector_accuracy.*"


def saved_percent(ours: Mapping[int, Curves], theirs: Mapping[int, Curves], *, worst: bool) -> float | None:
    """Of all bytes of all rounds; `worst`: of those until convergence, as ATHENA-FL states its worst case."""
    if not worst:
        spent, usual = mean_bytes(ours), mean_bytes(theirs)
        return 100 * (1 - spent / usual) if usual > 0 else None
    own, other = effort(ours), effort(theirs)
    if own is None or other is None or other.bytes_per_epoch <= 0 or other.mean <= other.deviation:
        return None
    return 100 * bytes_saved(own, other)[1]


def effort(runs: Mapping[int, Curves]) -> Effort | None:
    """Rounds and bytes until convergence; None where nothing has converged."""
    found = epochs(runs)
    if not found:
        return None
    return Effort(fmean(found), stdev(found) if len(found) > 1 else 0.0, bytes_per_round(runs))


def mean_bytes(runs: Mapping[int, Curves]) -> float:
    return fmean(sum(sum(trained(curves.get(name, {})).values()) for name in BYTES) for curves in runs.values())


def bytes_per_round(runs: Mapping[int, Curves]) -> float:
    rounds = fmean(len(trained(curves.get("bytes_up", {}))) for curves in runs.values())
    return mean_bytes(runs) / rounds if rounds else 0.0


def epochs(runs: Mapping[int, Curves]) -> list[float]:
    """Rounds to convergence of every detector of every run, or of the runs themselves where they have no detectors."""
    rule = Converge(take="converge")
    curves = [curve for each in runs.values() for curve in chosen(DETECTORS, each) or chosen("accuracy", each)]
    found = [converge(rule, trained(curve)) for curve in curves]
    return [value for value in found if value is not None]
