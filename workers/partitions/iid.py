from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workers.catalog.component import Partition, PartitionInput
from workers.partitions._cuts import Parts, equal_counts


class Iid(Partition):
    """Shuffle, then cut into equal parts (sizes differ by at most one)."""

    name = "iid"
    label = "IID"

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        order = data.rng.permutation(len(data.labels))
        return Parts.cut(order, equal_counts(len(order), data.clients))
