from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workers.catalog.component import Partition, PartitionInput
from workers.errors import FederationError, Problem
from workers.partitions._cuts import indices_by_client

if TYPE_CHECKING:
    from workers.spec import RunSpec


class Natural(Partition):
    """The data set's own clients (writers, subjects): the first `clients` of them by sorted id.

    Samples of the others are left out; `clients: null` takes all.
    """

    name = "natural"
    label = "Natural clients"
    short = "Natural"
    leaves_samples_out = True

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        natural_clients = spec.dataset_facts.natural_clients
        if natural_clients is None:
            yield Problem("partition", f"{spec.dataset.name} has no natural clients: choose another partition.")
        elif spec.client_count > natural_clients:
            yield Problem("clients", f"{spec.client_count} clients, but {spec.dataset.name} has {natural_clients}.")

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        if data.natural is None:
            raise FederationError("The data set has no natural clients: choose another partition.")
        names, owner = np.unique(data.natural, return_inverse=True)
        if data.clients > len(names):
            raise FederationError(f"{data.clients} clients, but the data set has {len(names)}: take fewer.")
        return indices_by_client(owner, len(names)).first(data.clients)
