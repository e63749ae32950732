from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from workers.catalog.component import Parameters, Partition, PartitionInput
from workers.errors import FederationError, Problem
from workers.partitions._cuts import counts_by_share, grouped, min_size_problems

if TYPE_CHECKING:
    from workers.spec import RunSpec

MOST_DRAWS = 200


class LabelDirichletParameters(Parameters):
    alpha: float = Field(0.5, gt=0)
    """Concentration: small gives every client few classes, large approaches IID."""
    balanced: bool = True
    """A client that already holds its equal share of samples gets nothing of the next classes (NIID-Bench)."""
    min_size: int = Field(10, ge=0)
    """Redraw until every client has so many samples."""


class LabelDirichlet(Partition):
    """Label skew: of every class, clients get shares drawn from Dirichlet(alpha).

    `balanced` is NIID-Bench's rule: before a class is dealt, the share of a client that holds at least n / clients
    samples is set to zero and the others are rescaled. The draw is repeated, at most 200 times, until the smallest
    client has `min_size` samples.
    """

    name = "label-dirichlet"
    label = "Label skew (Dirichlet)"
    paper = "Li et al.: Federated Learning on Non-IID Data Silos: An Experimental Study, ICDE 2022"
    Params = LabelDirichletParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        return min_size_problems(spec)

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        by_class = [np.flatnonzero(data.labels == each) for each in range(data.classes)]
        for _ in range(MOST_DRAWS):
            owner = deal(data, by_class, params.alpha, params.balanced)
            if np.bincount(owner, minlength=data.clients).min() >= params.min_size:
                return grouped(owner, data.clients)
        raise FederationError(
            f"No label-dirichlet partition of {len(data.labels)} samples with at least {params.min_size} for each of "
            f"{data.clients} clients in {MOST_DRAWS} draws: lower min_size, raise alpha or take fewer clients."
        )


def deal(data: PartitionInput, by_class: Sequence[np.ndarray], alpha: float, balanced: bool) -> np.ndarray:
    """The client of every sample, class after class."""
    owner = np.empty(len(data.labels), dtype=np.int64)
    held = np.zeros(data.clients, dtype=np.int64)
    for members in by_class:
        shares = data.rng.dirichlet(np.full(data.clients, alpha))
        if balanced:
            shares = limited(shares, held < len(data.labels) / data.clients)
        counts = counts_by_share(shares, len(members))
        owner[data.rng.permutation(members)] = np.repeat(np.arange(data.clients), counts)
        held += counts
    return owner


def limited(shares: np.ndarray, open_to: np.ndarray) -> np.ndarray:
    """Shares of the clients that may still take, rescaled; equal ones where the draw left them nothing."""
    kept: np.ndarray = shares * open_to
    if kept.sum() <= 0:
        kept = open_to.astype(float) if open_to.any() else np.ones_like(shares)
    kept /= kept.sum()
    return kept
