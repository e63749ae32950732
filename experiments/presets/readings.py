"""A printed number's counterpart in measured curves, bytes saved among them. Pure; accuracies are fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from experiments.presets.preset import (
    ArgMax,
    At,
    BestReading,
    Converge,
    Count,
    CurveReading,
    Final,
    Max,
    Over,
    Reach,
    Saved,
    Start,
)
from experiments.statistics.over_seeds import Sample, mean_and_std, merge_seeds
from workers.clustering.convergence import Effort, bytes_saved, has_converged

Curve = Mapping[int, float]
Curves = Mapping[str, Curve]
"""By metric: the value of each round, in order of rounds."""
CurvesBySeed = Mapping[int, Sequence[Curves]]
"""The curves of the finished runs of each seed of a cell; none for a seed that ended without one."""


def read_number(reading: CurveReading, curves: Curves) -> float | None:
    """That number of one run, or None where its curves do not have it; not finite where a needed value is not."""
    chosen = select_curves(reading.metric, curves)
    numbers = [
        curve.get(0) if isinstance(reading, Start) else READERS[type(reading)](reading, without_round_zero(curve))
        for curve in chosen
    ]
    known = [value for value in numbers if value is not None]
    return mean_of(known) if known and len(known) == len(numbers) else None


def mean_of(values: Sequence[float]) -> float:
    """Not a number where one of them is not finite."""
    mean = mean_and_std(values)[0] if all(map(math.isfinite, values)) else None
    return math.nan if mean is None else mean


def read_sample(reading: CurveReading, seeds: CurvesBySeed, scale: float = 1.0) -> Sample:
    """That number of each seed; those that are not finite, or never got there, are counted."""
    return merge_seeds(
        {
            seed: [None if (value := read_number(reading, curves)) is None else value * scale for curves in runs]
            for seed, runs in seeds.items()
        }
    )


def read_mean_curve(reading: BestReading, seeds: CurvesBySeed) -> float | None:
    """The number of the mean curve over seeds, at the rounds that all of them have."""
    curves = [
        without_round_zero(mean_curve([curves.get(reading.metric, {}) for curves in runs]))
        for runs in seeds.values()
        if runs
    ]
    return READERS[type(reading)](reading, mean_curve(curves)) if curves else None


def mean_curve(curves: Sequence[Curve]) -> dict[int, float]:
    common = set.intersection(*(set(curve) for curve in curves)) if curves else set[int]()
    return {number: mean_of([curve[number] for curve in curves]) for number in sorted(common)}


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
    return mean_of(values) if reading.take == "mean" else variance_of(values)


def variance_of(values: Sequence[float]) -> float:
    """Of at least two; not a number where one of them is not finite."""
    std = mean_and_std(values)[1] if all(map(math.isfinite, values)) else None
    return math.nan if std is None else std * std


def read_reach(reading: Reach, curve: Curve) -> float | None:
    return next((float(number) for number, value in curve.items() if value >= reading.target), None)


def read_convergence(reading: Converge, curve: Curve) -> float | None:
    rounds = pairwise(curve)
    return next(
        (
            float(now)
            for before, now in rounds
            if has_converged(curve[before], curve[now], reading.tolerance, relative=True)
        ),
        None,
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


def saved_percent(reading: Saved, ours: CurvesBySeed, theirs: CurvesBySeed) -> float | None:
    """Of all bytes of all rounds; `worst`: of those until convergence, as ATHENA-FL states its worst case."""
    if not reading.worst:
        spent, usual = mean_bytes(ours), mean_bytes(theirs)
        return 100 * (1 - spent / usual) if usual > 0 else None
    own = convergence_effort(ours, reading.own_bytes)
    other = convergence_effort(theirs, reading.other_bytes)
    if own is None or other is None or other.bytes_per_epoch <= 0 or other.mean <= other.deviation:
        return None
    return 100 * bytes_saved(own, other)[1]


def convergence_effort(seeds: CurvesBySeed, round_bytes: float | None = None) -> Effort | None:
    """Rounds and bytes until convergence, of each round those that were sent unless given; None where nothing has
    converged."""
    mean, std = mean_and_std(rounds_to_convergence(seeds))
    if mean is None:
        return None
    return Effort(mean, std or 0.0, bytes_per_round(seeds) if round_bytes is None else round_bytes)


def mean_over_seeds(seeds: CurvesBySeed, number: Callable[[Curves], float]) -> float:
    """Of at least one seed with a finished run; runs of one seed count once."""
    return mean_of([mean_of([number(curves) for curves in runs]) for runs in seeds.values() if runs])


def mean_bytes(seeds: CurvesBySeed) -> float:
    return mean_over_seeds(
        seeds, lambda curves: sum(sum(without_round_zero(curves.get(name, {})).values()) for name in BYTES)
    )


def bytes_per_round(seeds: CurvesBySeed) -> float:
    rounds = mean_over_seeds(seeds, lambda curves: float(len(without_round_zero(curves.get("bytes_up", {})))))
    return mean_bytes(seeds) / rounds if rounds else 0.0


def rounds_to_convergence(seeds: CurvesBySeed) -> list[float]:
    """Of every detector of every seed, or of the seeds' accuracy where they have no detectors, once they converged."""
    return [number for number in convergence_numbers(seeds) if number is not None]


def convergence_numbers(seeds: CurvesBySeed) -> list[float | None]:
    """None for what has not converged in every run of its seed, and for a seed that is missing."""
    rule = Converge(take="converge")
    rounds: list[float | None] = []
    for runs in seeds.values():
        if not runs:
            rounds.append(None)
        for name in dict.fromkeys(name for curves in runs for name in converging_metrics(curves)):
            numbers = [read_convergence(rule, without_round_zero(curves.get(name, {}))) for curves in runs]
            known = [number for number in numbers if number is not None]
            rounds.append(mean_of(known) if len(known) == len(runs) else None)
    return rounds


def converging_metrics(curves: Curves) -> list[str]:
    detectors = [name for name in curves if name.startswith(DETECTORS[:-1])]
    return detectors or [name for name in curves if name == "accuracy"]
