"""How far a mean can be trusted: intervals over seeds, and over the differences of matching seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from experiments.statistics.over_seeds import Sample, mean_and_std

RESAMPLES = 2_000
ENUMERATED = 6
"""Of up to so many values there are only 462 different resamples."""


@dataclass(frozen=True)
class Difference:
    """Of two cells over the seeds that both have; the interval holds 95 % by Student's t and needs two seeds."""

    mean: float
    n: int
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self) -> str:
        """`more`, `less`, `tie` where the interval includes 0, `unknown` where there is none."""
        if self.low is None or self.high is None:
            return "unknown"
        return "more" if self.low > 0 else "less" if self.high < 0 else "tie"

    def scaled(self, scale: float) -> Difference:
        low, high = (None if end is None else end * scale for end in (self.low, self.high))
        return Difference(self.mean * scale, self.n, low, high)


def t_half_width(std: float | None, n: int) -> float | None:
    return None if std is None or n < 2 else t_quantile(n) * std / math.sqrt(n)


def paired_difference(first: Sample, second: Sample) -> Difference | None:
    """First minus second over matching seeds; None where no seed matches, or where one of them is lost: the mean of the
    seeds that are left would tell of survivors."""
    matching = sorted(first.every_seed & second.every_seed)
    if not matching or any(seed not in first.seeds or seed not in second.seeds for seed in matching):
        return None
    pairs = [(first.seeds[seed], second.seeds[seed]) for seed in matching]
    unit = 1.0 if all(math.isfinite(a - b) for a, b in pairs) else 2.0
    mean, std = mean_and_std([a / unit - b / unit for a, b in pairs])
    mean, half = (mean or 0.0) * unit, t_half_width(std, len(pairs))
    if half is None:
        return Difference(mean, len(pairs))
    return Difference(mean, len(pairs), *interval_around(mean, half * unit))


def interval_around(mean: float, half: float) -> tuple[float, float]:
    """Everything where the half is infinite."""
    return (mean - half, mean + half) if math.isfinite(half) else (-math.inf, math.inf)


@dataclass(frozen=True)
class SeedWins:
    """Two cells seed by seed, where matching seeds are lost: a lost one is worse than any value, and like another.

    Counts of the first and of the second: seeds in which it is better, has diverged, is missing.
    """

    better: tuple[int, int]
    diverged: tuple[int, int]
    missing: tuple[int, int]
    n: int

    @property
    def p(self) -> float:
        """Of the sign test, two-sided and exact, over the seeds in which they differ."""
        differ, fewer = sum(self.better), min(self.better)
        return min(1.0, 2 * sum(math.comb(differ, count) for count in range(fewer + 1)) / 2.0**differ)


def seed_wins(first: Sample, second: Sample, *, higher: bool) -> SeedWins | None:
    """None where no matching seed is lost: then the difference of the means counts."""
    matching = first.every_seed & second.every_seed
    diverged = (len(first.diverged & matching), len(second.diverged & matching))
    missing = (len(first.missing & matching), len(second.missing & matching))
    if not any((*diverged, *missing)):
        return None
    worst = -math.inf if higher else math.inf
    pairs = [(first.seeds.get(seed, worst), second.seeds.get(seed, worst)) for seed in matching]
    more, less = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    better = (more, less) if higher else (less, more)
    return SeedWins(better, diverged, missing, len(matching))


@cache
def resamples(n: int) -> tuple[np.ndarray, np.ndarray]:
    """How much each of n values counts in each resampled mean [n, resamples], and how likely each of those is.

    For few values all resamples there are, so that nothing is left to chance; for more, seeded draws.
    """
    if n > ENUMERATED:
        counts = np.random.default_rng(n).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
        return np.ascontiguousarray(counts.T) / n, np.full(RESAMPLES, 1 / RESAMPLES)
    choices = list(combinations_with_replacement(range(n), n))
    counts = np.array([np.bincount(each, minlength=n) for each in choices])
    ways = [math.factorial(n) / math.prod(map(math.factorial, row)) for row in counts.tolist()]
    return counts.T / n, np.array(ways) / n**n


def bootstrap_intervals(rows: Sequence[Sequence[float]]) -> list[tuple[float, float] | None]:
    """For each row of values, the middle 95 % of its resampled means; None for fewer than two values."""
    intervals: list[tuple[float, float] | None] = [None] * len(rows)
    for n in {len(row) for row in rows if len(row) > 1}:
        places = [place for place, row in enumerate(rows) if len(row) == n]
        for place, interval in zip(places, middle_share(np.array([rows[place] for place in places])), strict=True):
            intervals[place] = interval
    return intervals


def middle_share(values: np.ndarray) -> list[tuple[float, float]]:
    """Of each row's resampled means, those at 2.5 % and 97.5 % of the probability."""
    shares, likely = resamples(values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        means = values @ shares
    edges = [edge - 1e-12 for edge in (0.025, 0.975)]
    low, high = equally_likely(means, edges) if values.shape[1] > ENUMERATED else weighted(means, likely, edges)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def equally_likely(means: np.ndarray, edges: Sequence[float]) -> list[np.ndarray]:
    places = [math.ceil(edge * means.shape[1]) - 1 for edge in edges]
    parted = np.partition(means, places, axis=1)
    return [parted[:, place] for place in places]


def weighted(means: np.ndarray, likely: np.ndarray, edges: Sequence[float]) -> list[np.ndarray]:
    rows, order = np.arange(len(means)), np.argsort(means, axis=1)
    so_far = np.cumsum(likely[order], axis=1)
    return [means[rows, order[rows, np.argmax(so_far >= edge, axis=1)]] for edge in edges]


def t_within(t: float, freedom: int) -> float:
    """The probability that Student's t lies between -t and t."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = total = cosine if odd else 1.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if not odd:
        return sine * total
    return 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))


def one_sided_p(mean: float, std: float, n: int) -> float:
    """By Student's t: the probability of a mean at least that high over n values, were the true one 0."""
    if std == 0:
        return 0.5 if mean == 0 else 0.0 if mean > 0 else 1.0
    within = t_within(abs(mean) / (std / math.sqrt(n)), n - 1)
    return (1 - within) / 2 if mean > 0 else (1 + within) / 2


@cache
def t_quantile(n: int) -> float:
    """So many standard errors to each side of a mean of n values hold 95 %; found by halving."""
    low, high = 0.0, 16.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_within(middle, n - 1) < 0.95 else (low, middle)
    return (low + high) / 2


def chi_square_tail(x: float, freedom: int) -> float:
    """The probability of a value of at least x."""
    half, odd = x / 2, freedom % 2
    term = math.sqrt(2 * x / math.pi) * math.exp(-half) if odd else math.exp(-half)
    total = math.erfc(math.sqrt(half)) if odd else 0.0
    for step in range(1 + odd, freedom, 2):
        total += term
        term *= x / (step + 1)
    return total
