"""A printed number's counterpart in measured curves, bytes saved among them. Pure; accuracies are fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import fmean, stdev, variance
from typing import Any

from experiments.presets.preset import ArgMax, At, Converge, Count, CurveReading, Final, Max, Over, Reach
from experiments.statistics.over_seeds import Sample, merge_seeds
from workers.clustering.convergence import Effort, bytes_saved, has_converged

Curve = Mapping[int, float]
Curves = Mapping[str, Curve]
"""By metric: the value of each round, in order of rounds."""


def read_number(reading: CurveReading, curves: Curves) -> float | None:
    """That number of one run, or None where its curves do not have it; not finite where a needed value is not."""
    numbers = [
        READERS[type(reading)](reading, without_round_zero(curve)) for curve in select_curves(reading.metric, curves)
    ]
    known = [value for value in numbers if value is not None]
    return fmean(known) if known and len(known) == len(numbers) else None


def read_sample(reading: CurveReading, seeds: Mapping[int, Curves], scale: float = 1.0) -> Sample:
    """That number of each seed; those that are not finite, or never got there, are counted."""
    values = {seed: read_number(reading, curves) for seed, curves in seeds.items()}
    return merge_seeds({seed: [None if value is None else value * scale] for seed, value in values.items()})


def select_curves(metric: str, curves: Curves) -> list[Curve]:
    if metric.endswith("*"):
        return [curve for name, curve in curves.items() if name.startswith(metric[:-1])]
    return [curves[metric]] if metric in curves else []


def without_round_zero(curve: Curve) -> dict[int, float]:
    """Without round 0, the evaluation before training."""
    return {number: value for number, value in sorted(curve.items()) if number}


def read_final(reading: Final, curve: Curve) -> float | None:
    return curve[max(curve)] if curve else None


def read_at(reading: At, curve: Curve) -> float | None:
    return curve.get(reading.round)


def read_best(reading: Max, curve: Curve) -> float | None:
    finite = [value for value in curve.values() if math.isfinite(value)]
    return max(finite) if finite else None


def read_best_round(reading: ArgMax, curve: Curve) -> float | None:
    top = read_best(Max(take="max"), curve)
    return next((float(number) for number, value in curve.items() if value == top), None)


def read_over(reading: Over, curve: Curve) -> float | None:
    """All rounds of the range that an evaluated run can have must be there: a shorter run has no such number."""
    values = [value for number, value in curve.items() if reading.first <= number <= reading.last]
    if not curve or max(curve) < reading.last or len(values) < 2:
        return None
    return fmean(values) if reading.take == "mean" else variance(values)


def read_reach(reading: Reach, curve: Curve) -> float | None:
    return next((float(number) for number, value in curve.items() if value >= reading.target), None)


def read_convergence(reading: Converge, curve: Curve) -> float | None:
    rounds = pairwise(curve)
    return next(
        (float(now) for before, now in rounds if has_converged(curve[before], curve[now], reading.tolerance)), None
    )


def read_count(reading: Count, curve: Curve) -> float | None:
    return float(sum(value > 0 for value in curve.values())) if curve else None


READERS: dict[type[CurveReading], Callable[[Any, Curve], float | None]] = {
    Final: read_final,
    At: read_at,
    Max: read_best,
    ArgMax: read_best_round,
    Over: read_over,
    Reach: read_reach,
    Converge: read_convergence,
    Count: read_count,
}


BYTES = ("bytes_up", "bytes_down", "bytes_peer")
DETECTORS = "athena.detector_accuracy.*"


def saved_percent(ours: Mapping[int, Curves], theirs: Mapping[int, Curves], *, worst: bool) -> float | None:
    """Of all bytes of all rounds; `worst`: of those until convergence, as ATHENA-FL states its worst case."""
    if not worst:
        spent, usual = mean_bytes(ours), mean_bytes(theirs)
        return 100 * (1 - spent / usual) if usual > 0 else None
    own, other = convergence_effort(ours), convergence_effort(theirs)
    if own is None or other is None or other.bytes_per_epoch <= 0 or other.mean <= other.deviation:
        return None
    return 100 * bytes_saved(own, other)[1]


def convergence_effort(runs: Mapping[int, Curves]) -> Effort | None:
    """Rounds and bytes until convergence; None where nothing has converged."""
    rounds = rounds_to_convergence(runs)
    if not rounds:
        return None
    return Effort(fmean(rounds), stdev(rounds) if len(rounds) > 1 else 0.0, bytes_per_round(runs))


def mean_bytes(runs: Mapping[int, Curves]) -> float:
    return fmean(
        sum(sum(without_round_zero(curves.get(name, {})).values()) for name in BYTES) for curves in runs.values()
    )


def bytes_per_round(runs: Mapping[int, Curves]) -> float:
    rounds = fmean(len(without_round_zero(curves.get("bytes_up", {}))) for curves in runs.values())
    return mean_bytes(runs) / rounds if rounds else 0.0


def rounds_to_convergence(runs: Mapping[int, Curves]) -> list[float]:
    """Rounds to convergence of every detector of every run, or of the runs themselves where they have no detectors."""
    rule = Converge(take="converge")
    curves = [
        curve for each in runs.values() for curve in select_curves(DETECTORS, each) or select_curves("accuracy", each)
    ]
    rounds = [read_convergence(rule, without_round_zero(curve)) for curve in curves]
    return [value for value in rounds if value is not None]
