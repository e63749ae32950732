"""Aggregations that outvote or leave out models which lie far from the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors, tensor_of
from workers.engine.messages.message_keys import ARRAYS
from workers.engine.server.averaging import array_record, weights_of
from workers.strategies._composition import Aggregation, ComposedServer

COORDINATES = 16_448
"""At once: all clients' values of a large layer, stacked and sorted, would take its size twice for each client.

No power of two: clients' values of one coordinate would fall into the same few lines of the cache, and sorting takes
seven times as long. A multiple of 64, so that means have the bits that they have over a whole layer.
"""


def by_coordinate(values: Sequence[torch.Tensor], of: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """What `of` makes of the clients' values, [clients, coordinates]: on a CPU of some coordinates after the other."""
    flat, shape = [each.flatten() for each in values], values[0].shape
    size = COORDINATES if values[0].device.type == "cpu" else max(1, len(flat[0]))
    starts = range(0, max(1, len(flat[0])), size)
    return torch.cat([of(torch.stack([each[start : start + size] for each in flat])) for start in starts]).view(shape)


def trimmed_mean(values: torch.Tensor, cut: int) -> torch.Tensor:
    """Without the `cut` smallest and largest of each coordinate; NaN counts as the largest value there is."""
    if not cut:
        return values.mean(0)
    return ascending(values)[cut : len(values) - cut].mean(0)


def ascending(values: torch.Tensor) -> torch.Tensor:
    """Sorted coordinate by coordinate, NaN last. On a CPU NumPy needs a tenth of torch's time for it."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.sort(values.numpy(), axis=0))
    return values.sort(0).values


class TrimmedMean(Aggregation):
    """The plain mean of what is left after cutting floor(trim * clients) values at both ends, of batch statistics too.

    Whole numbers, such as counts of batches, are averaged.
    """

    def __init__(self, trim: float) -> None:
        self.trim = trim

    def cut(self, clients: int) -> int:
        return int(self.trim * clients + 1e-9)

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        records = [array_record(reply, ARRAYS) for reply in replies]
        cut = self.cut(len(records))
        result = server.mean(replies) if server.buffers else {}
        for name, first in records[0].items():
            if first.dtype.startswith("float"):
                values = [tensor_of(record[name]) for record in records]
                result[name] = by_coordinate(values, partial(trimmed_mean, cut=cut))
        return {name: result[name] for name in records[0]}


class Median(TrimmedMean):
    """Cuts all but the middle value, or the middle two."""

    def __init__(self) -> None:
        super().__init__(0.5)

    def cut(self, clients: int) -> int:
        return (clients - 1) // 2


class Krum(Aggregation):
    """The plain mean of the `keep` models that lie closest to their neighbours; all but `malicious` where it is None.

    Distances are over parameters only: batch statistics, and counts of batches even more, would drown them.
    """

    def __init__(self, malicious: int, keep: int | None) -> None:
        self.malicious, self.keep = malicious, keep

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        count = len(replies) - self.malicious if self.keep is None else self.keep
        scores = krum_scores(squared_distances(server, replies), self.malicious)
        best = torch.argsort(scores, stable=True)[: max(1, count)].tolist()
        return server.mean_with([replies[each] for each in best], [1 / len(best)] * len(best))


def krum_scores(distances: torch.Tensor, malicious: int) -> torch.Tensor:
    """Each model's squared distances to its n - f - 2 nearest others, summed; infinite where one is not finite."""
    distances = torch.nan_to_num(distances, nan=torch.inf)
    distances.fill_diagonal_(torch.inf)
    nearest = max(1, len(distances) - malicious - 2)
    return distances.sort(1).values[:, :nearest].sum(1)


class GeometricMedian(Aggregation):
    """The model whose weighted sum of distances to all models is least, by the smoothed Weiszfeld algorithm.

    v = sum_i b_i w_i / sum_i b_i with b_i = p_i / max(smoothing, ||v - w_i||), from the mean by samples, so many times.
    Every v is a mean of the models: its distances follow from the products of their movements, worked out once. Models
    that are not finite count for nothing.
    """

    def __init__(self, iterations: int, smoothing: float) -> None:
        self.iterations, self.smoothing = iterations, smoothing

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        products = movement_products(server, replies)
        finite = torch.isfinite(products.diagonal()).nonzero().flatten().tolist()
        if not finite:
            return server.mean(replies)
        chosen = [replies[each] for each in finite]
        start = torch.tensor(weights_of(chosen), dtype=torch.float64, device=server.device)
        return server.mean_with(chosen, self.weights(products[finite][:, finite], start).tolist())

    def weights(self, products: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
        weights = shares
        for _ in range(self.iterations):
            onto = products @ weights
            squares = (weights @ onto - 2 * onto + products.diagonal()).clamp(min=0)
            weights = shares / squares.sqrt().clamp(min=self.smoothing)
            weights = weights / weights.sum()
        return weights


class Bulyan(Aggregation):
    """Of n models n - 2f are chosen by Krum, one after the other; of each coordinate those nearest to the median count.

    The plain mean of the n - 4f chosen values that lie nearest to their median. Whole numbers are averaged.
    """

    def __init__(self, malicious: int) -> None:
        self.malicious = malicious

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        chosen = [replies[each] for each in self.choose(squared_distances(server, replies))]
        keep = max(1, len(chosen) - 2 * self.malicious)
        records = [array_record(reply, ARRAYS) for reply in chosen]
        result = server.mean_with(chosen, [1 / len(chosen)] * len(chosen))
        for name, first in records[0].items():
            if first.dtype.startswith("float"):
                values = [tensor_of(record[name]) for record in records]
                result[name] = by_coordinate(values, partial(mean_near_median, keep=keep))
        return result

    def choose(self, distances: torch.Tensor) -> list[int]:
        left = list(range(len(distances)))
        chosen: list[int] = []
        for _ in range(max(1, len(distances) - 2 * self.malicious)):
            scores = krum_scores(distances[left][:, left], self.malicious)
            chosen.append(left.pop(int(torch.argmin(scores))))
        return sorted(chosen)


def mean_near_median(values: torch.Tensor, keep: int) -> torch.Tensor:
    """Of each coordinate the mean of the `keep` values that lie nearest to the middle one (or the middle two).

    In order these stand together. They begin at the first value that is no further away than the one after them.
    """
    ordered, half = ascending(values), (len(values) - 1) // 2
    middle = ordered[half : len(values) - half].mean(0)
    first = (middle - ordered[: len(values) - keep] > ordered[keep:] - middle).sum(0)
    return ordered.gather(0, first + torch.arange(keep, device=values.device)[:, None]).mean(0)


def squared_distances(server: ComposedServer, replies: Sequence[RecordDict]) -> torch.Tensor:
    """Of movements, not of models: |x|^2 + |y|^2 - 2xy loses fewer digits on what is small."""
    products = movement_products(server, replies)
    squares = products.diagonal()
    return (squares[:, None] + squares - 2 * products).clamp(min=0)


def movement_products(server: ComposedServer, replies: Sequence[RecordDict]) -> torch.Tensor:
    """The inner product of every two clients' movements, over parameters alone."""
    records = [array_record(reply, ARRAYS) for reply in replies]
    products = torch.zeros(len(records), len(records), dtype=torch.float64, device=server.device)
    for name, before in server.sent.items():
        if name not in server.buffers:
            movements = torch.stack([tensor_of(record[name]) - before for record in records]).flatten(1)
            products += movements @ movements.T
    return products
