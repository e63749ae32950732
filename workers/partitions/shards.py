from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from workers.catalog.component import Parameters, Partition, PartitionInput
from workers.errors import Problem
from workers.partitions._cuts import equal_counts, grouped

if TYPE_CHECKING:
    from workers.spec import RunSpec


class ShardsParameters(Parameters):
    per_client: int = Field(2, ge=1)
    """Shards each client is dealt."""


class Shards(Partition):
    """McMahan's sort-and-deal: sort by label, cut into clients x per_client equal shards, deal them at random.

    A shard holds one class, or two where it crosses a border; within a class the order is random.
    """

    name = "shards"
    label = "Shards"
    paper = "McMahan et al.: Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017"
    Params = ShardsParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        shards, there_are = getattr(spec.partition, "per_client", 1) * spec.client_count, spec.dataset_facts.train
        if shards > there_are:
            yield Problem("partition.per_client", f"{shards} shards, but only {there_are} training samples.")

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        shuffled = data.rng.permutation(len(data.labels))
        by_label = shuffled[np.argsort(data.labels[shuffled], kind="stable")]
        dealt = data.rng.permutation(np.repeat(np.arange(data.clients), params.per_client))
        owner = np.empty(len(by_label), dtype=np.int64)
        owner[by_label] = np.repeat(dealt, equal_counts(len(by_label), len(dealt)))
        return grouped(owner, data.clients)
