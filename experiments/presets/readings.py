"""A printed number's counterpart in measured curves. Pure; accuracies are fractions, as runs record them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import fmean, variance
from typing import Any

from experiments.charts.intervals import Sample
from experiments.presets.preset import ArgMax, At, Converge, Count, Final, Max, OneRun, Over, Reach
from workers.clustering.convergence import has_converged

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
