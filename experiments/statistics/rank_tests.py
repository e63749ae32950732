"""Tests over many settings, on one number per setting: signed ranks, Friedman's test and Holm's correction.

Exact, ties included: all 2^n signs are counted, not approximated by the normal distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.statistics.intervals import chi_square_tail

ALPHA = 0.05


@dataclass(frozen=True)
class SignedRanks:
    """Wilcoxon's test, two-sided and exact. `n` counts the differences that are not zero.

    `positive`: those above zero have the larger ranks together.
    """

    n: int
    statistic: float
    p: float
    positive: bool


@dataclass(frozen=True)
class Friedman:
    """Over `settings` in which all `methods` were measured; `mean_ranks` with 1 for the best."""

    settings: int
    methods: int
    statistic: float
    p: float
    mean_ranks: tuple[float, ...]


def midranks(values: Sequence[float]) -> np.ndarray:
    """1 for the smallest; equal values share the mean of their ranks."""
    array = np.asarray(values, dtype=float)
    below = (array[:, None] > array[None, :]).sum(axis=1)
    equal = (array[:, None] == array[None, :]).sum(axis=1)
    ranks: np.ndarray = below + (equal + 1) / 2
    return ranks


def signed_ranks(differences: Sequence[float]) -> SignedRanks | None:
    """None where every difference is zero. The distribution is that of all 2^n signs, ties included.

    Infinite differences share the largest rank.
    """
    kept = [each for each in differences if each != 0]
    if not kept:
        return None
    doubled = np.rint(2 * midranks([abs(each) for each in kept])).astype(int)
    ways = np.zeros(doubled.sum() + 1)
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] = (ways[rank:] + ways[: len(ways) - rank]) / 2
        ways[:rank] /= 2
    positive = int(doubled[np.array(kept) > 0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    p = min(1.0, 2 * float(ways[: smaller + 1].sum()))
    return SignedRanks(len(kept), smaller / 2, p, 2 * positive > int(doubled.sum()))


def smallest_p(n: int) -> float:
    """What the signed-rank test can reach at best with n differences: all of one sign."""
    return float(min(1.0, 2.0 ** (1 - n)))


def settings_needed(comparisons: int) -> int:
    """So many settings until the clearest of them could be significant after Holm's correction."""
    n = 1
    while smallest_p(n) * max(1, comparisons) >= ALPHA:
        n += 1
    return n


def friedman(rows: Sequence[Sequence[float]], *, higher: bool) -> Friedman | None:
    """Each row is a setting, each column a method. None for fewer than three methods or two settings."""
    if len(rows) < 2 or len(rows[0]) < 3:
        return None
    ranks = np.array([midranks([-value for value in row] if higher else row) for row in rows])
    settings, methods = ranks.shape
    spread = (ranks**2).sum() - settings * methods * (methods + 1) ** 2 / 4
    if spread == 0:
        return None
    between = ((ranks.sum(axis=0) - settings * (methods + 1) / 2) ** 2).sum()
    statistic = float((methods - 1) * between / spread)
    means = tuple(ranks.mean(axis=0).tolist())
    return Friedman(settings, methods, statistic, chi_square_tail(statistic, methods - 1), means)


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value corrected for the number of tests, in the order given."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, so_far = [0.0] * len(p_values), 0.0
    for step, place in enumerate(order):
        so_far = max(so_far, min(1.0, (len(p_values) - step) * p_values[place]))
        corrected[place] = so_far
    return corrected
