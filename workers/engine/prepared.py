"""What the runs of one process share: data sets as numbers, federations made of them, and their copies on a device.

Most runs of a grid have the same data, partition and seed. Nothing that computes changes what is kept here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import finalize

import numpy as np
import torch

from workers.catalog import load_catalog
from workers.engine.federation import Federation, Prepared, make_federation, require_data, source_on_demand
from workers.spec import RunSpec

Item = TypeVar("Item")
MOST_DATASETS, DATASET_BYTES = 4, 2**30
MOST_FEDERATIONS, FEDERATION_BYTES = 16, 2**28
"""Of one data set; bytes are those that a federation has beyond the data set's own: indices, noisy samples."""
WITHOUT_EFFECT = {
    "model",
    "strategy",
    "local",
    "rounds",
    "cohort",
    "fraction",
    "client_dropout",
    "stragglers",
    "evaluation",
    "stop",
    "engine",
    "precision",
    "privacy",
    "compression",
    "selection",
}
"""Fields of a spec that change nothing in its federation; of `evaluation` and `stop`, those that do are named below."""


class RecentItems(Generic[Item]):
    """What was asked for last: at most so many items and bytes. One that is larger is not kept, unless it `stays`."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self.most, self.most_bytes = most, most_bytes
        self.items: OrderedDict[Hashable, tuple[Item, int]] = OrderedDict()

    def get(
        self, key: Hashable, make: Callable[[], Item], size_of: Callable[[Item], int], *, stays: bool = False
    ) -> Item:
        if key in self.items:
            self.items.move_to_end(key)
            return self.items[key][0]
        item = make()
        size = size_of(item)
        if stays or size <= self.most_bytes:
            while self.items and (len(self.items) >= self.most or self.bytes + size > self.most_bytes):
                self.items.popitem(last=False)
            self.items[key] = item, size
        return item

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.items.values())


@dataclass(eq=False)
class PreparedData:
    """A data set: its samples, once somebody needed all of them, and its federations, which go with it."""

    samples: Prepared | None = None
    federations: RecentItems[Federation] = field(
        default_factory=lambda: RecentItems(MOST_FEDERATIONS, FEDERATION_BYTES)
    )

    def prepare(self, make: Callable[[], Prepared]) -> Prepared:
        if self.samples is None:
            self.samples = make()
        return self.samples

    def own_bytes(self, federation: Federation) -> int:
        shared = [] if self.samples is None else [id(each) for each in self.samples]
        arrays = (federation.x, federation.y, federation.test_x, federation.test_y)
        return federation.clients.bytes + sum(each.nbytes for each in arrays if id(each) not in shared)


DATASETS: RecentItems[PreparedData] = RecentItems(MOST_DATASETS, DATASET_BYTES)


def prepared_federation(spec: RunSpec) -> Federation:
    """`make_federation`, unless an equal one is still here."""
    require_data(spec)
    on_demand = source_on_demand(spec) is not None
    room = 0 if on_demand else spec.dataset_facts.values * np.dtype(np.float32).itemsize
    # The samples come later: what must go for them goes first, so that two large data sets never lie side by side.
    data = DATASETS.get((data_key(spec), on_demand), PreparedData, lambda _: room, stays=True)
    return data.federations.get(
        federation_key(spec), lambda: make_federation(spec, prepare=data.prepare), data.own_bytes
    )


def data_key(spec: RunSpec) -> Hashable:
    """The data set's parameters, what it is now, and the code that reads it."""
    dataset = load_catalog().datasets[spec.dataset.name]
    return dataset, spec.dataset.model_dump_json(), dataset.checksum(spec.dataset), dataset.stamp


def federation_key(spec: RunSpec) -> Hashable:
    partition, evaluation = load_catalog().partitions[spec.partition.name], spec.evaluation
    poisons_data = spec.attack is not None and spec.attack.poisons_data
    return (
        partition,
        partition.stamp,
        spec.model_dump_json(exclude=WITHOUT_EFFECT if poisons_data else {*WITHOUT_EFFECT, "attack"}),
        (evaluation.on, evaluation.held_out, evaluation.validation, spec.watches_validation),
    )


class DeviceCopies:
    """An array as a tensor of that device and type: one for all who ask, for as long as the array lives.

    A tensor that is the array's own memory is no copy and is not kept: it would keep its array.
    """

    def __init__(self) -> None:
        self.copies: dict[tuple[int, torch.device, torch.dtype], torch.Tensor] = {}

    def get(self, array: np.ndarray, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
        key = id(array), device, dtype
        if key in self.copies:
            return self.copies[key]
        own = torch.from_numpy(array)
        tensor = own.to(device, dtype)
        if tensor is not own:
            self.copies[key] = tensor
            finalize(array, self.copies.pop, key, None)
        return tensor


DEVICE_COPIES = DeviceCopies()
