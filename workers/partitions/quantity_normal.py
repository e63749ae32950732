from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workers.catalog.component import Partition, PartitionInput
from workers.partitions._cuts import counts_by_share


class QuantityNormal(Partition):
    """Quantity skew: sizes proportional to |N(0, 1)|, labels are IID.

    Every client first gets one sample, so that none is empty; the rest is cut by the drawn shares.
    """

    name = "quantity-normal"
    label = "Quantity skew (normal)"
    paper = "Bozorgzad: Smart swapping based on model similarity, Isfahan University of Technology, 2024"

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        order = data.rng.permutation(len(data.labels))
        shares = np.abs(data.rng.standard_normal(data.clients))
        counts = 1 + counts_by_share(shares / shares.sum(), len(order) - data.clients)
        return np.split(order, np.cumsum(counts)[:-1])
