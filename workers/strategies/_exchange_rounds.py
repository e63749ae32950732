"""When clients' models are averaged, and when they swap. Round r is step r - 1; step 0 averages."""

from __future__ import annotations


def is_average_round(number: int, every: int) -> bool:
    return (number - 1) % every == 0


def is_swap_round(number: int, h1: int, h2: int) -> bool:
    """Each h1 rounds, except where the round averages."""
    return is_average_round(number, h1) and not is_average_round(number, h1 * h2)
