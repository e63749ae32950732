"""Everything over a cell's seeds: mean, standard deviation, extremes, and how many seeds are behind them.

A seed counts once. Runs of a cell that have the same seed (computed again without reuse, or in two studies) are merged
into their mean before anything else is done with them: by `over_seeds` on whole columns, where curves are many, and by
`merge_seeds`, where a table or a test wants one number of each seed. Both have the standard deviation with ddof 1, none
for one seed.

A seed with a run whose value is not finite is `lost`, whatever its other runs gave; a seed whose runs have ended
without a value is `missed`. Neither is in a mean, and both are counted: no seed that has ended is in none of the three.

Every finite double is safe. A group is scaled by a power of two, which changes no digit, so that no square overflows or
vanishes; a result that exceeds the largest double is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

Seed = int | tuple[str, int]
"""A seed of one cell, or a cell and its seed where a sample is of several cells."""
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
UNENDED = ("queued", "running")


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
    missed: int = 0

    @property
    def complete(self) -> bool:
        return not (self.lost or self.missed)

    def median(self, *, higher: bool) -> float:
        """Needs the seeds' own values."""
        return median_with_worst(self.values, self.lost + self.missed, higher=higher)


class OpenRun(NamedTuple):
    """A run that is still to end, and the last round that its cell's curve has of it; -1 before the first."""

    run: int
    cell: str
    last_round: int


class SeedColumns(NamedTuple):
    """A row for each group, in ascending order of the groups; NaN stands for nothing.

    `first` is the place of one of its rows in what was given; `unended` counts its seeds that have a run still to end;
    `values` are the finite values of all groups, one after the other, by seed.
    """

    first: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    lost: np.ndarray
    unended: np.ndarray
    values: np.ndarray


def over_seeds(groups: np.ndarray, seeds: np.ndarray, values: np.ndarray, unended: np.ndarray) -> SeedColumns:
    """Columns of equal length with a row for each run; `unended` tells whether a run of that seed is still to end."""
    order = np.lexsort((seeds, groups))
    groups, seeds, values = groups[order], seeds[order], values[order].astype(np.float64)
    starts = np.flatnonzero(differs(groups) | differs(seeds))
    if len(starts) < len(values):
        order, groups = order[starts], groups[starts]
        values = mean_of_each(values, starts)
    finite, starts = np.isfinite(values), np.flatnonzero(differs(groups))
    n, sizes = sum_each(finite, starts), np.diff(starts, append=len(values))
    exponents, scaled = scale_each(np.where(finite, values, 0.0), starts)
    with np.errstate(over="ignore"):
        mean = sum_each(scaled, starts) / np.maximum(n, 1)
        squares = np.where(finite, scaled - np.repeat(mean, sizes), 0.0) ** 2
        std = np.sqrt(sum_each(squares, starts) / np.maximum(n - 1, 1))
        mean, std = (np.ldexp(column.astype(np.float64), exponents) for column in (mean, std))
    low = reduce_each(np.minimum, np.where(finite, values, np.inf), starts)
    high = reduce_each(np.maximum, np.where(finite, values, -np.inf), starts)
    mean, low, high = (np.where(n > 0, column, np.nan) for column in (mean, low, high))
    std = np.where(n > 1, std, np.nan)
    return SeedColumns(
        order[starts], mean, std, low, high, n, sizes - n, sum_each(unended[order], starts), values[finite]
    )


def differs(column: np.ndarray) -> np.ndarray:
    """Whether each value is another than the one before."""
    return np.concatenate([np.ones(min(1, len(column)), bool), column[1:] != column[:-1]])


def reduce_each(function: np.ufunc, column: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """numpy does not reduce no group at all."""
    reduced: np.ndarray = function.reduceat(column, starts) if len(starts) else column[:0]
    return reduced


def sum_each(column: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return reduce_each(np.add, column.astype(np.int64) if column.dtype == bool else column, starts)


def scale_each(values: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A power of two for each group, and its values without it: none above 1, and the largest at least 1/2."""
    exponents = np.frexp(reduce_each(np.maximum, np.abs(values), starts))[1]
    sizes = np.diff(starts, append=len(values))
    return exponents, np.ldexp(values, -np.repeat(exponents, sizes)).astype(np.longdouble)


def mean_of_each(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The mean of each group; not a number where one of its values is not finite."""
    finite, sizes = np.isfinite(values), np.diff(starts, append=len(values))
    exponents, scaled = scale_each(np.where(finite, values, 0.0), starts)
    means = np.ldexp((sum_each(scaled, starts) / sizes).astype(np.float64), exponents)
    return np.where(sum_each(finite, starts) == sizes, means, np.nan)


@dataclass(frozen=True)
class Sample:
    """One number for each seed of a cell that has one, and the seeds that have none: diverged, or missing."""

    seeds: Mapping[Seed, float]
    diverged: frozenset[Seed] = frozenset()
    missing: frozenset[Seed] = frozenset()

    @property
    def n(self) -> int:
        return len(self.seeds)

    @property
    def lost(self) -> int:
        return len(self.diverged)

    @property
    def missed(self) -> int:
        return len(self.missing)

    @property
    def complete(self) -> bool:
        """No seed is lost or missed: only then its mean may be compared with another."""
        return not (self.diverged or self.missing)

    @property
    def every_seed(self) -> frozenset[Seed]:
        return frozenset(self.seeds) | self.diverged | self.missing

    @cached_property
    def moments(self) -> tuple[float | None, float | None]:
        return mean_and_std(tuple(self.seeds.values()))

    @property
    def mean(self) -> float | None:
        return self.moments[0]

    @property
    def std(self) -> float | None:
        return self.moments[1]

    @property
    def low(self) -> float | None:
        return min(self.seeds.values(), default=None)

    @property
    def high(self) -> float | None:
        return max(self.seeds.values(), default=None)

    def median(self, *, higher: bool) -> float:
        return median_with_worst(tuple(self.seeds.values()), self.lost + self.missed, higher=higher)


def median_with_worst(values: Iterable[float], others: int, *, higher: bool) -> float:
    """Of at least one seed, `others` without a value among them: those are worse than any that has one."""
    ordered = sorted([*values, *([-math.inf if higher else math.inf] * others)])
    return ordered[(len(ordered) - 1) // 2] / 2 + ordered[len(ordered) // 2] / 2


class RankedSeeds(Protocol):
    """What is known of a cell's seeds, of whatever it is made."""

    @property
    def mean(self) -> float | None: ...
    @property
    def complete(self) -> bool: ...
    def median(self, *, higher: bool) -> float: ...


def best_complete(cells: Mapping[Key, RankedSeeds], *, higher: bool) -> Key | None:
    """The best mean of the cells that lost no seed; the mean of what is left of the others says nothing of the rest.

    None where it cannot be told: every cell lost seeds, or one that did has no worse a median with them as the worst.
    """
    means = {key: each.mean for key, each in cells.items() if each.complete and each.mean is not None}
    if not means:
        return None
    sign = 1 if higher else -1
    best = max(means, key=lambda key: sign * means[key])
    level = sign * cells[best].median(higher=higher)
    rivals = [sign * each.median(higher=higher) for each in cells.values() if not each.complete]
    return None if any(rival >= level for rival in rivals) else best


def mean_and_std(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Of finite values; a standard deviation needs two."""
    if not values:
        return None, None
    if len(values) < 2:
        return values[0], None
    exponent = math.frexp(max(map(abs, values)))[1]
    scaled = [math.ldexp(value, -exponent) for value in values]
    mean = math.fsum(scaled) / len(values)
    std = math.sqrt(math.fsum((value - mean) ** 2 for value in scaled) / (len(values) - 1))
    return times_power_of_two(mean, exponent), times_power_of_two(std, exponent)


def times_power_of_two(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)


def exact_sum(values: Iterable[float]) -> float:
    """Rounded once; infinite where it exceeds the largest double, and as floats have it where a value is not finite."""
    values = list(values)
    if not all(map(math.isfinite, values)):
        return sum(values)
    exponent = math.frexp(max(map(abs, values), default=0.0))[1]
    return times_power_of_two(math.fsum(math.ldexp(value, -exponent) for value in values), exponent)


def merge_seeds(runs: Mapping[Seed, Sequence[float | None]]) -> Sample:
    """The sample of what the runs of each seed gave. None, or no run, is one that never got there."""
    seeds: dict[Seed, float] = {}
    diverged, missing = set(), set()
    for seed, values in runs.items():
        known = [value for value in values if value is not None]
        if not all(map(math.isfinite, known)):
            diverged.add(seed)
        elif not known or len(known) < len(values):
            missing.add(seed)
        else:
            seeds[seed] = known[0] if len(known) == 1 else mean_and_std(known)[0] or 0.0
    return Sample(seeds, frozenset(diverged), frozenset(missing))


def ended_seeds(runs: Iterable[tuple[Key, str]]) -> set[Key]:
    """Of seeds and states of runs: the seeds that have no run to wait for."""
    runs = list(runs)
    return {seed for seed, _ in runs} - {seed for seed, state in runs if state in UNENDED}


def with_missing_seeds(
    values: Mapping[Key, Sequence[Value]], runs: Iterable[tuple[Key, str]]
) -> dict[Key, Sequence[Value]]:
    """What the runs of each seed gave, and nothing for the seeds of the cell that have ended without giving anything.

    Where runs are done and yet none gave a value, there is no such number in this cell, and nothing is missing.
    """
    runs = list(runs)
    if not values and any(state == "done" for _, state in runs):
        return {}
    return {**values, **{seed: () for seed in ended_seeds(runs) if seed not in values}}
