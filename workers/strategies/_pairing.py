"""Who swaps with whom: disjoint pairs of positions in a cohort."""

from __future__ import annotations

import numpy as np

Pairs = list[tuple[int, int]]


def pair_count(clients: int, share: float) -> int:
    return int(clients // 2 * share + 1e-9)


def random_pairs(clients: int, count: int, rng: np.random.Generator) -> Pairs:
    order = rng.permutation(clients).tolist()
    return [(order[2 * each], order[2 * each + 1]) for each in range(count)]


def greedy_pairs(similarity: np.ndarray, count: int, rng: np.random.Generator) -> Pairs:
    """A random client takes the least similar of those that are left."""
    free = rng.permutation(len(similarity)).tolist()
    pairs = []
    for _ in range(count):
        one = free.pop(0)
        other = min(free, key=lambda each: (similarity[one, each], each))
        free.remove(other)
        pairs.append((one, other))
    return pairs


def minimum_pairs(similarity: np.ndarray, count: int) -> Pairs:
    """The least similar pair of all, then the least similar of those that are left, and so on."""
    rows, columns = np.triu_indices(len(similarity), 1)
    taken: set[int] = set()
    pairs: Pairs = []
    for at in np.argsort(similarity[rows, columns], kind="stable").tolist():
        if len(pairs) == count:
            break
        one, other = int(rows[at]), int(columns[at])
        if one not in taken and other not in taken:
            taken |= {one, other}
            pairs.append((one, other))
    return pairs
