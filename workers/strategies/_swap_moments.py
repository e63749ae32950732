"""When clients' models are averaged, and when they swap. Round r is step r - 1; step 0 averages."""

from __future__ import annotations


def averages(number: int, every: int) -> bool:
    return (number - 1) % every == 0


def swaps(number: int, h1: int, h2: int) -> bool:
    """Each h1 steps, except where the step averages."""
    return averages(number, h1) and not averages(number, h1 * h2)
