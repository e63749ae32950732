"""Servers that look at each coordinate of the clients' models by itself."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from flwr.app import RecordDict

from workers.engine.arrays import Tensors, tensor_of
from workers.engine.method import MethodContext
from workers.engine.names import ARRAYS
from workers.engine.server import Averaging, array_record


def middle_mean(values: torch.Tensor, cut: int) -> torch.Tensor:
    """Without the `cut` smallest and largest of each coordinate; NaN counts as the largest value there is."""
    if not cut:
        return values.mean(0)
    return values.sort(0).values[cut : len(values) - cut].mean(0)


class Trimmed(Averaging):
    """The plain mean of what is left after cutting floor(trim * clients) values at both ends, of batch statistics too.

    Whole numbers, such as counts of batches, are averaged.
    """

    def __init__(self, context: MethodContext, trim: float) -> None:
        super().__init__(context)
        self.trim = trim

    def cut(self, clients: int) -> int:
        return int(self.trim * clients + 1e-9)

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        records = [array_record(reply, ARRAYS) for reply in replies]
        cut = self.cut(len(records))
        result = self.mean(replies) if self.buffers else {}
        for name, first in records[0].items():
            if first.dtype.startswith("float"):
                result[name] = middle_mean(torch.stack([tensor_of(record[name]) for record in records]), cut)
        return {name: result[name] for name in records[0]}


class Median(Trimmed):
    """Cuts all but the middle value, or the middle two."""

    def __init__(self, context: MethodContext) -> None:
        super().__init__(context, 0.5)

    def cut(self, clients: int) -> int:
        return (clients - 1) // 2
