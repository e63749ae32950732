"""ATHENA-FL's rules: when a model has converged, and what its training sends until then."""

from __future__ import annotations

from dataclasses import dataclass


def has_converged(before: float, now: float, tolerance: float) -> bool:
    """An accuracy (0..1) that changed by less than the tolerance since the epoch before. NaN never converges."""
    return abs(now - before) < tolerance


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
