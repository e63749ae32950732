"""Where each row's mean ± std lies between the lowest and the highest of the table: a dot and a line in its cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.statistics.over_seeds import SeedStatistics

WIDTH, MARGIN = 150.0, 6.0


@dataclass(frozen=True)
class SpreadMark:
    """In pixels from the left; `low` and `high` are equal where a single seed has no spread."""

    low: float
    mean: float
    high: float


def spread_marks(rows: Sequence[SeedStatistics]) -> list[SpreadMark]:
    ends = [(each.mean or 0.0, each.std or 0.0) for each in rows]
    lowest = min((mean - std for mean, std in ends), default=0.0)
    highest = max((mean + std for mean, std in ends), default=0.0)
    scale = (WIDTH - 2 * MARGIN) / (highest - lowest) if highest > lowest else 0.0

    def place(value: float) -> float:
        return round(MARGIN + (value - lowest) * scale, 1) if scale else WIDTH / 2

    return [SpreadMark(place(mean - std), place(mean), place(mean + std)) for mean, std in ends]
