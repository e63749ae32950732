"""Partitions whose clients hold unequal numbers of samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from workers.catalog.component import Parameters, Partition, PartitionInput
from workers.errors import FederationError, Problem
from workers.partitions._cuts import Parts, counts_by_share, min_size_problems

if TYPE_CHECKING:
    from workers.spec import RunSpec


MOST_DRAWS = 10_000


class QuantityDirichletParameters(Parameters):
    beta: float = Field(0.5, gt=0)
    """Concentration: small gives very unequal sizes, large approaches equal ones."""
    min_size: int = Field(10, ge=0)
    """Redraw until every client has so many samples."""


class QuantityDirichlet(Partition):
    """Quantity skew: clients' sizes are shares drawn from Dirichlet(beta), labels are IID.

    Shuffle, cut at the cumulative shares; the shares are redrawn, at most 10,000 times, until the smallest client has
    `min_size` samples.
    """

    name = "quantity-dirichlet"
    label = "Quantity skew (Dirichlet)"
    short = "Quantity Dirichlet"
    named_by = ("beta",)
    paper = "Li et al.: Federated Learning on Non-IID Data Silos: An Experimental Study, ICDE 2022"
    Params = QuantityDirichletParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        return min_size_problems(spec)

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        order = data.rng.permutation(len(data.labels))
        for _ in range(MOST_DRAWS):
            counts = counts_by_share(data.rng.dirichlet(np.full(data.clients, params.beta)), len(order))
            if counts.min() >= params.min_size:
                return Parts.cut(order, counts)
        raise FederationError(
            f"No quantity-dirichlet partition of {len(order)} samples with at least {params.min_size} for each of "
            f"{data.clients} clients in {MOST_DRAWS} draws: lower min_size, raise beta or take fewer clients."
        )


class QuantityNormal(Partition):
    """Quantity skew: sizes proportional to |N(0, 1)|, labels are IID.

    Every client first gets one sample, so that none is empty; the rest is cut by the drawn shares.
    """

    name = "quantity-normal"
    label = "Quantity skew (normal)"
    short = "Quantity normal"
    paper = "Bozorgzad: Smart swapping based on model similarity, Isfahan University of Technology, 2024"

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        order = data.rng.permutation(len(data.labels))
        shares = np.abs(data.rng.standard_normal(data.clients))
        counts = 1 + counts_by_share(shares / shares.sum(), len(order) - data.clients)
        return Parts.cut(order, counts)
