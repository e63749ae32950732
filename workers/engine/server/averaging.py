"""Server sides built on Flower's FedAvg: the weighted mean of a whole cohort is one matrix product."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from workers.engine.messages.arrays import Tensors, record_of, tensors_of, weighted_mean
from workers.engine.messages.message_keys import ARRAYS, METRICS, ROUND, SAMPLES
from workers.engine.server.server_side import ServerSide

if TYPE_CHECKING:
    from workers.engine.server.method import MethodContext


class Averaging(ServerSide, FedAvg):
    """Flower's FedAvg with every node the grid offers (the run's own stream has drawn them) and a faster mean.

    Subclasses override `combine`; `ServerSide` says what becomes of `state`, `virtual` and other attributes. What
    `combine` puts into `reported` becomes part of the round's metrics: names with a dot as they are, bytes that travel
    outside the messages added to those that are counted.
    """

    transient: ClassVar[tuple[str, ...]] = ("sent", "reported")

    def __init__(self, context: MethodContext) -> None:
        super().__init__(min_train_nodes=1, min_evaluate_nodes=1, min_available_nodes=1)
        self.buffers = context.buffers
        self.device = next(iter(context.initial.values())).device
        self.state = {}
        self.sent: Tensors = {}
        self.virtual = None
        self.reported: dict[str, float] = {}

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        self.sent = tensors_of(arrays)
        config[ROUND] = server_round
        content = RecordDict({**self.request(server_round, arrays), self.configrecord_key: config})
        return [Message(content, node, MessageType.TRAIN) for node in grid.get_node_ids()]

    def request(self, server_round: int, arrays: ArrayRecord) -> dict[str, ArrayRecord]:
        """What the clients get, by record name."""
        return {self.arrayrecord_key: arrays}

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        contents = [reply.content for reply in replies if not reply.has_error()]
        if not contents:
            return None, None
        self.reported = {}
        new = self.combine(server_round, contents)
        metrics = MetricRecord({**mean_metrics(contents), **self.reported})
        return (None if new is None else record_of(new)), metrics

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        """The new global model; None keeps the old one."""
        return self.mean(replies)

    def mean(self, replies: Sequence[RecordDict], name: str = ARRAYS) -> Tensors:
        return self.mean_with(replies, weights_of(replies), name)

    def mean_with(self, replies: Sequence[RecordDict], weights: Sequence[float], name: str = ARRAYS) -> Tensors:
        return mean_of([array_record(reply, name) for reply in replies], weights)

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.state = {name: torch.from_numpy(np.array(array)).to(self.device) for name, array in arrays.items()}


def array_record(content: RecordDict, name: str) -> ArrayRecord:
    record = content[name]
    assert isinstance(record, ArrayRecord)
    return record


def metric(content: RecordDict, name: str) -> float:
    record = content[METRICS]
    assert isinstance(record, MetricRecord)
    value = record[name]
    assert not isinstance(value, list)
    return float(value)


def weights_of(replies: Sequence[RecordDict]) -> list[float]:
    """n_i / n."""
    samples = [metric(reply, SAMPLES) for reply in replies]
    total = sum(samples)
    return [each / total for each in samples]


def mean_of(records: Sequence[ArrayRecord], weights: Sequence[float]) -> Tensors:
    """The weighted mean; counters among the buffers (batches seen) are rounded to whole numbers."""
    whole = [name for name, array in records[0].items() if not array.dtype.startswith("float")]
    result = weighted_mean(records, weights, [name for name in records[0] if name not in whole])
    for name in whole:
        counts = [float(record[name].numpy()) for record in records]
        result[name] = torch.tensor(round(float(np.dot(counts, weights))), dtype=torch.int64)
    return {name: result[name] for name in records[0]}


def mean_metrics(replies: Sequence[RecordDict]) -> MetricRecord:
    weights = weights_of(replies)
    first = replies[0][METRICS]
    names = [name for name in first if name != SAMPLES]
    return MetricRecord(
        {name: float(sum(w * metric(r, name) for w, r in zip(weights, replies, strict=True))) for name in names}
    )
