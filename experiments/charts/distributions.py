"""Student's t and chi-square for whole degrees of freedom, in closed form (Abramowitz and Stegun 26.4 and 26.7).

The web server's image has no scipy: a hundred megabytes for two functions. The tests compare these with scipy's.
"""

from __future__ import annotations

import math
from functools import cache


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
