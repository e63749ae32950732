"""How many times faster than a contender, how certain that is, and whether it is less than was published last.

Noise is what the same thing differed by from pass to pass of one run of the command: half the range of its passes as a
share of their median, of both sides together, and never below 5 %.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LEAST_NOISE = 0.05


@dataclass(frozen=True)
class Ratio:
    value: float
    noise: float = LEAST_NOISE


def time_ratio(theirs: Sequence[float], ours: Sequence[float]) -> Ratio:
    """Of the medians of their passes and ours."""
    noise = pass_spread(theirs) + pass_spread(ours)
    return Ratio(statistics.median(theirs) / statistics.median(ours), max(LEAST_NOISE, noise))


def pass_spread(passes: Sequence[float]) -> float:
    return (max(passes) - min(passes)) / 2 / statistics.median(passes)


def lower_ratios(current: Mapping[str, Ratio], published: Mapping[str, Ratio]) -> Iterable[str]:
    """Those that are lower than what was published last by more than both noises together."""
    for name, ratio in current.items():
        before = published.get(name)
        if before is not None and ratio.value < before.value * (1 - ratio.noise - before.noise):
            noise = f"{ratio.noise + before.noise:.0%}"
            yield f"{name}: {ratio.value:.2f}x, {before.value:.2f}x was published last, and noise is {noise}"
