"""Servers that outvote or leave out models which lie far from the others."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors, tensor_of
from workers.engine.messages.message_keys import ARRAYS
from workers.engine.server.averaging import Averaging, array_record
from workers.engine.server.method import MethodContext


def trimmed_mean(values: torch.Tensor, cut: int) -> torch.Tensor:
    """Without the `cut` smallest and largest of each coordinate; NaN counts as the largest value there is."""
    if not cut:
        return values.mean(0)
    return values.sort(0).values[cut : len(values) - cut].mean(0)


class TrimmedMeanServer(Averaging):
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
                result[name] = trimmed_mean(torch.stack([tensor_of(record[name]) for record in records]), cut)
        return {name: result[name] for name in records[0]}


class MedianServer(TrimmedMeanServer):
    """Cuts all but the middle value, or the middle two."""

    def __init__(self, context: MethodContext) -> None:
        super().__init__(context, 0.5)

    def cut(self, clients: int) -> int:
        return (clients - 1) // 2


class KrumServer(Averaging):
    """The plain mean of the `keep` models that lie closest to their neighbours; all but `malicious` where it is None.

    Distances are over parameters only: batch statistics, and counts of batches even more, would drown them.
    """

    def __init__(self, context: MethodContext, malicious: int, keep: int | None) -> None:
        super().__init__(context)
        self.malicious, self.keep = malicious, keep

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        count = len(replies) - self.malicious if self.keep is None else self.keep
        best = torch.argsort(self.scores(replies), stable=True)[: max(1, count)].tolist()
        return self.mean_with([replies[each] for each in best], [1 / len(best)] * len(best))

    def scores(self, replies: Sequence[RecordDict]) -> torch.Tensor:
        """Each model's squared distances to its n - f - 2 nearest others, summed; infinite where one is not finite."""
        distances = torch.nan_to_num(self.distances(replies), nan=torch.inf)
        distances.fill_diagonal_(torch.inf)
        nearest = max(1, len(replies) - self.malicious - 2)
        return distances.sort(1).values[:, :nearest].sum(1)

    def distances(self, replies: Sequence[RecordDict]) -> torch.Tensor:
        """Of movements, not of models: |x|^2 + |y|^2 - 2xy loses fewer digits on what is small."""
        records = [array_record(reply, ARRAYS) for reply in replies]
        products = torch.zeros(len(records), len(records), dtype=torch.float64, device=self.device)
        for name, before in self.sent.items():
            if name not in self.buffers:
                movements = torch.stack([tensor_of(record[name]) - before for record in records]).flatten(1)
                products += movements @ movements.T
        squares = products.diagonal()
        return (squares[:, None] + squares - 2 * products).clamp(min=0)
