"""Hybrid between federated and centralised learning (Iaisy 2024): part of the data moves into one shared data set.

share-disjoint: every client k gives floor(ratio * n_k) random samples and keeps the rest.
unify: floor(ratio * K) random clients give all they have.
Ratio 1 is centralised: everything is shared. Ratio 0, or one that rounds down to nothing, shares nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workers.component import Arrays, elements
from workers.streams import stream


@dataclass(frozen=True)
class Share:
    """What each client keeps (possibly nothing) and the shared samples."""

    kept: tuple[np.ndarray, ...]
    pool: np.ndarray


def share(parts: Sequence[np.ndarray], method: Literal["share-disjoint", "unify"], ratio: float, seed: int) -> Share:
    given = samples_given(parts, ratio, seed) if method == "share-disjoint" else clients_given(parts, ratio, seed)
    pool = [part[mask] for part, mask in zip(parts, given, strict=True)]
    kept = tuple(part if not mask.any() else part[~mask] for part, mask in zip(parts, given, strict=True))
    return Share(kept, np.concatenate(pool))


def samples_given(parts: Sequence[np.ndarray], ratio: float, seed: int) -> list[np.ndarray]:
    """For each client, a mask over its samples."""
    masks = []
    for client, part in enumerate(parts):
        mask = np.zeros(len(part), dtype=bool)
        if count := part_of(ratio, len(part)):
            mask[stream(seed, "hybrid", client=client).permutation(len(part))[:count]] = True
        masks.append(mask)
    return masks


def clients_given(parts: Sequence[np.ndarray], ratio: float, seed: int) -> list[np.ndarray]:
    givers = set(stream(seed, "hybrid").permutation(len(parts))[: part_of(ratio, len(parts))].tolist())
    return [np.full(len(part), client in givers) for client, part in enumerate(parts)]


def part_of(ratio: float, count: int) -> int:
    """Rounded down, forgiving the representation of decimal ratios (0.29 of 100 is 29)."""
    return int(ratio * count + 1e-9)


def raw_bytes(arrays: Arrays, classes: int) -> int:
    """What one sample costs to send as stored: 1 byte a pixel of a byte image, 4 a float value, and its label.

    The label takes the smallest unsigned integer that can name every class: 1 byte up to 256 classes.
    """
    value = 1 if arrays.train_x.dtype == np.uint8 else 4
    return elements(arrays.train_x.shape[1:]) * value + np.min_scalar_type(classes - 1).itemsize
