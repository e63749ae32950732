"""Bytes that one cell saves over another, as the studies state it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev

from experiments.presets.preset import Converge
from experiments.presets.readings import Curves, chosen, converge, trained

BYTES = ("bytes_up", "bytes_down", "bytes_peer")
DETECTORS = "athena.detector_accuracy.*"


def saved_percent(ours: Mapping[int, Curves], theirs: Mapping[int, Curves], *, worst: bool) -> float | None:
    """Of all bytes of all rounds; `worst`: of the bytes until convergence, with our epochs a standard deviation

    above their mean and the others' one below, which is how ATHENA-FL states its saving.
    """
    if not worst:
        return percent(mean_bytes(ours), mean_bytes(theirs))
    late, early = epochs(ours), epochs(theirs)
    if not late or not early:
        return None
    spent = (fmean(late) + spread(late)) * bytes_per_round(ours)
    return percent(spent, (fmean(early) - spread(early)) * bytes_per_round(theirs))


def percent(ours: float, theirs: float) -> float | None:
    return 100 * (1 - ours / theirs) if theirs > 0 else None


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


def spread(values: list[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0
