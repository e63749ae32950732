"""Everything over a cell's seeds: mean, standard deviation, extremes, and how many seeds are behind them.

A seed counts once. Runs of a cell that have the same seed (computed again without reuse, or in two studies) are merged
into their mean before anything else is done with them: by `over_seeds` in SQL, where curves are many, and by
`merge_seeds` in Python, where a table or a test wants one number of each seed. Both have the standard deviation with
ddof 1, none for one seed; values that are not finite are left out and counted as `lost`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

FINITE = "abs(value) < 'Infinity'"  # NaN is more than infinity to PostgreSQL
Seed = int | tuple[str, int]
"""A seed of one cell, or a cell and its seed where a sample is of several cells."""


class SeedStatistics(NamedTuple):
    """Over the seeds of one cell at one round. A tuple, because a chart is made of thousands.

    `x` is the round, or what the seeds had spent by then on average; `values` are the seeds' own, if asked for.
    """

    cell: str
    round: int
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    n: int
    lost: int
    x: float = 0.0
    values: tuple[float, ...] = ()


class Column(NamedTuple):
    """A further column of `over_seeds`: how runs of one seed are merged, and then all seeds. Both are SQL."""

    of_a_seed: str
    of_all_seeds: str


def over_seeds(values: str, *, by: str, further: Mapping[str, Column] | None = None) -> str:
    """SQL: `mean`, `std`, `low`, `high`, `n`, `lost` for each `by`. `values` selects `by`, `seed` and `value`."""
    columns = further or {}
    of_a_seed = "".join(f", {each.of_a_seed} AS {name}" for name, each in columns.items())
    of_all_seeds = "".join(f", {each.of_all_seeds} AS {name}" for name, each in columns.items())
    return f"""
        SELECT {by}, avg(value) AS mean, stddev_samp(value) AS std, min(value) AS low, max(value) AS high,
            count(value)::int AS n, sum(lost)::int AS lost {of_all_seeds}
        FROM (
            SELECT {by}, seed, avg(value) FILTER (WHERE {FINITE}) AS value,
                count(*) FILTER (WHERE NOT {FINITE}) AS lost {of_a_seed}
            FROM ({values}) runs
            GROUP BY {by}, seed
        ) seeds
        GROUP BY {by}
    """


@dataclass(frozen=True)
class Sample:
    """One number per seed of a cell. `lost` runs are not finite, `missed` ones never reached what was asked for."""

    seeds: Mapping[Seed, float]
    lost: int = 0
    missed: int = 0

    @property
    def n(self) -> int:
        return len(self.seeds)

    @cached_property
    def mean(self) -> float | None:
        return math.fsum(self.seeds.values()) / self.n if self.seeds else None

    @cached_property
    def std(self) -> float | None:
        if self.n < 2 or self.mean is None:
            return None
        mean = self.mean
        return math.sqrt(math.fsum((value - mean) ** 2 for value in self.seeds.values()) / (self.n - 1))

    @property
    def low(self) -> float | None:
        return min(self.seeds.values(), default=None)

    @property
    def high(self) -> float | None:
        return max(self.seeds.values(), default=None)


def merge_seeds(runs: Mapping[Seed, Sequence[float | None]]) -> Sample:
    """The sample of what the runs of each seed gave; None is a run that never reached what was asked for."""
    finite = {
        seed: [value for value in values if value is not None and math.isfinite(value)] for seed, values in runs.items()
    }
    every = [value for values in runs.values() for value in values]
    return Sample(
        {seed: math.fsum(values) / len(values) for seed, values in finite.items() if values},
        lost=sum(value is not None and not math.isfinite(value) for value in every),
        missed=sum(value is None for value in every),
    )
