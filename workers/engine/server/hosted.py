"""Hosts a strategy that was written for Flower alone: it sees Flower's own messages, the engine sees its own.

The strategy gets arrays of Flower's class, which it may take apart and change as it likes; of the model it gets the
parameters, while batch statistics are averaged by samples here, as for every strategy. Who takes part is what the
grid offers.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from workers.engine.messages.arrays import SCALAR_BYTES, Tensors, cast_like, record_of, tensor_of, tensors_of
from workers.engine.messages.flower import number_messages
from workers.engine.messages.message_keys import ARRAYS, CONFIG, METRICS, ROUND, SAMPLES, STEPS, TRAIN_LOSS
from workers.engine.server.averaging import array_record, mean_of, weights_of
from workers.engine.server.method import MethodContext
from workers.engine.server.server_side import FlowerServer
from workers.errors import TributaryError

Mod = Callable[[Message, Any, Callable[[Message, Any], Message]], Message]
"""A modifier of Flower's, as it stands between a client's app and the server."""
MOST_QUESTIONS = 6
"""How often a strategy may ask for the nodes of one round; who waits for more nodes asks once a second."""


class HostedStrategy(FlowerServer, Strategy):
    """`mods` act on every reply, as they would on the client. `known_config` is what clients here act upon."""

    def __init__(
        self, strategy: Strategy, context: MethodContext, known_config: Sequence[str], mods: Sequence[Mod] = ()
    ) -> None:
        FlowerServer.__init__(self, strategy)
        self.buffers, self.known_config, self.mods = context.buffers, {ROUND, *known_config}, mods
        self.sent: Tensors = {}
        self.requests: dict[int, Message] = {}

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        self.sent = tensors_of(arrays)
        with self.explain_failures("configure_train", server_round):
            messages = list(
                self.strategy.configure_train(server_round, self.flower_arrays(self.sent), config, OfferedNodes(grid))  # type: ignore[arg-type]
            )
        if not messages:
            raise TributaryError(f"{self.name} asked no client to train in round {server_round}.")
        self.requests = {message.metadata.dst_node_id: message for message in number_messages(messages)}
        contents = {id(message.content): self.request_content(message) for message in messages}
        return [
            Message(contents[id(message.content)], message.metadata.dst_node_id, MessageType.TRAIN)
            for message in messages
        ]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        answers = list(replies)
        with self.explain_failures("aggregate_train", server_round), quick_collections():
            own = [self.with_mods(self.flower_reply(each)) for each in answers]
            extra_bytes = sum(map(scalar_count, own)) - sum(map(scalar_count, answers))
            arrays, metrics = self.strategy.aggregate_train(server_round, own)
        reported = MetricRecord({"bytes_up": float(SCALAR_BYTES * extra_bytes), **dict(named_metrics(metrics or {}))})
        if arrays is None:
            return None, reported
        model = self.engine_tensors(arrays)
        if self.buffers:
            contents = [each.content for each in answers if not each.has_error()]
            mean = mean_of([buffers_of(each, self.buffers) for each in contents], weights_of(contents))
            model |= {name: cast_like(self.sent[name], mean[name]) for name in self.buffers}
        return record_of({name: model[name] for name in self.sent}), reported

    @contextmanager
    def explain_failures(self, method: str, server_round: int) -> Iterator[None]:
        """What the strategy raises, as the run's own failure; numbers beyond all bounds are a result."""
        try:
            with np.errstate(all="ignore"):
                yield
        except TributaryError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise TributaryError(f"{self.name}.{method} failed in round {server_round}. {reason}") from error

    @property
    def name(self) -> str:
        return type(self.strategy).__name__

    def flower_arrays(self, tensors: Tensors) -> ArrayRecord:
        """Copies, without buffers."""
        values = {name: each.detach().cpu().numpy() for name, each in tensors.items() if name not in self.buffers}
        return ArrayRecord({name: Array(np.asarray(each, order="C")) for name, each in values.items()})

    def engine_tensors(self, record: ArrayRecord) -> Tensors:
        """The model's parameters with the model's types; whatever else the strategy made of them is refused."""
        expected = {name: each for name, each in self.sent.items() if name not in self.buffers}
        if set(record) != set(expected):
            raise TributaryError(f"{self.name} made a model with other arrays than those it was given.")
        result = {}
        for name, old in expected.items():
            new = tensor_of(record[name])
            if new.shape != old.shape:
                raise TributaryError(f"{self.name} gave {name} the shape {tuple(new.shape)}, not {tuple(old.shape)}.")
            result[name] = cast_like(old, new.to(old.device))
        return result

    def request_content(self, message: Message) -> RecordDict:
        """What clients of the engine understand; what they would overlook is refused."""
        content, kind = message.content, message.metadata.message_type
        if kind != MessageType.TRAIN:
            raise TributaryError(f"{self.name} sends messages of type {kind}; clients here answer {MessageType.TRAIN}.")
        if len(content.array_records) != 1:
            raise TributaryError(f"{self.name} sends {len(content.array_records)} models to a client; one is possible.")
        config = {name: value for record in content.config_records.values() for name, value in record.items()}
        if unknown := sorted(config.keys() - self.known_config):
            raise TributaryError(
                f"{self.name} sends {', '.join(unknown)} to the clients, and nothing here acts upon it: write a "
                "strategy component with a local rule that does (docs/plugins.md)."
            )
        model = {**self.sent, **self.engine_tensors(next(iter(content.array_records.values())))}
        return RecordDict({ARRAYS: record_of(model), CONFIG: ConfigRecord(config)})

    def flower_reply(self, reply: Message) -> Message:
        """As Flower's own clients would answer: one model, one record of metrics."""
        request = self.requests[reply.metadata.src_node_id]
        if reply.has_error():
            return Message(reply.error, reply_to=request)
        model = self.flower_arrays(tensors_of(array_record(reply.content, ARRAYS), torch.device("cpu")))
        return Message(
            RecordDict({ARRAYS: model, METRICS: MetricRecord(dict(reply.content.metric_records[METRICS]))}),
            reply_to=request,
        )

    def with_mods(self, reply: Message) -> Message:
        for mod in self.mods:
            request = self.requests[reply.metadata.src_node_id]
            before = reply
            reply = mod(request, None, lambda message, context, answer=before: answer)  # type: ignore[misc]
            if reply.has_error() and not before.has_error():
                raise TributaryError(f"{self.name}: {reply.error.reason}")
        return reply

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Evaluation is the engine's."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        return None

    def summary(self) -> None:
        self.strategy.summary()


@contextmanager
def quick_collections() -> Iterator[None]:
    """Some of Flower's strategies collect garbage for every reply: of all that a process with torch holds, that takes

    a tenth of a second each time; of what was made meanwhile, microseconds.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class OfferedNodes:
    """The grid of a round for one strategy, which may not wait for nodes that never come."""

    def __init__(self, grid: Grid) -> None:
        self.grid, self.questions = grid, 0

    def get_node_ids(self) -> list[int]:
        nodes = list(self.grid.get_node_ids())
        self.questions += 1
        if self.questions > MOST_QUESTIONS:
            raise TributaryError(
                f"The strategy waits for more clients than the {len(nodes)} of this round: take a larger cohort, or "
                "let it ask for fewer."
            )
        return nodes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.grid, name)


def buffers_of(content: RecordDict, names: Sequence[str]) -> ArrayRecord:
    record = array_record(content, ARRAYS)
    buffers = ArrayRecord()
    for name in names:
        buffers[name] = record[name]
    return buffers


def scalar_count(message: Message) -> int:
    return 0 if message.has_error() else sum(len(record) for record in message.content.metric_records.values())


def named_metrics(metrics: Any) -> Iterator[tuple[str, float]]:
    """What a strategy tells beyond the means of what clients report, as `flower.<name>`; lists by place."""
    for name, value in metrics.items():
        if name in (SAMPLES, TRAIN_LOSS, STEPS):
            continue
        values = {f".{at}": each for at, each in enumerate(value)} if isinstance(value, list) else {"": value}
        yield from ((f"flower.{name}{place}", float(each)) for place, each in values.items())
