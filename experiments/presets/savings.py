"""Bytes that one cell saves over another, as the studies state it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev

from experiments.presets.preset import Converge
from experiments.presets.readings import Curves, chosen, converge, trained
from workers.clustering.convergence import Effort, bytes_saved

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
