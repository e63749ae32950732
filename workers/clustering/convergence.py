"""ATHENA-FL's rules: when a model has converged, and what its training sends until then."""

from __future__ import annotations

from dataclasses import dataclass


def has_converged(before: float, now: float, tolerance: float, *, relative: bool = False) -> bool:
    """An accuracy (0..1) that changed by less than the tolerance since the epoch before. NaN never converges.

    `relative`: by less than that share of the accuracy before, as ATHENA-FL has it.
    """
    return abs(now - before) < tolerance * (before if relative else 1.0)


@dataclass(frozen=True)
class Effort:
    """Epochs to convergence over models or runs, and what one epoch sends per client."""

    mean: float
    deviation: float
    bytes_per_epoch: float


def bytes_saved(ours: Effort, theirs: Effort) -> tuple[float, float]:
    """Share of a client's bytes saved: with mean epochs, and in the worst case (ours late, theirs early)."""
    late, early = ours.mean + ours.deviation, theirs.mean - theirs.deviation
    per_epoch = ours.bytes_per_epoch / theirs.bytes_per_epoch
    return 1 - ours.mean / theirs.mean * per_epoch, 1 - late / early * per_epoch
