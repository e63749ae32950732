"""Cutting by shares and grouping by owner: what several partitions have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workers.errors import Problem

if TYPE_CHECKING:
    from workers.spec import RunSpec


def counts_by_share(shares: np.ndarray, total: int) -> np.ndarray:
    """How many of `total` each share gets when an ordered list is cut at the cumulative shares."""
    edges = np.floor(np.cumsum(shares) * total + 1e-9).astype(np.int64)
    edges[-1] = total
    return np.diff(np.minimum(edges, total), prepend=0)


def indices_by_client(owner: np.ndarray, clients: int) -> Sequence[np.ndarray]:
    """The indices of each client, ascending, where `owner` names the client of each index."""
    order = np.argsort(owner, kind="stable")
    return np.split(order, np.cumsum(np.bincount(owner, minlength=clients))[:-1])


def min_size_problems(spec: RunSpec) -> Iterable[Problem]:
    """A minimum size that no partition of the training set could reach."""
    least, clients, samples = getattr(spec.partition, "min_size", 0), spec.client_count, spec.dataset_facts.train
    if least * clients > samples:
        yield Problem("partition.min_size", f"{clients} clients of {least} are more than the {samples} samples.")


def equal_counts(total: int, parts: int) -> np.ndarray:
    """Sizes that differ by at most one, the larger ones first."""
    least, more = divmod(total, parts)
    return np.full(parts, least, dtype=np.int64) + (np.arange(parts) < more)
