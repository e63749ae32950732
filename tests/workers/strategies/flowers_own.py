"""Replies made by hand, aggregated by one of Flower's own strategies."""

from __future__ import annotations

from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp.strategy import Strategy

from tests.workers.strategies.by_hand import content
from workers.engine.messages.flower import enable_messages, number_messages


def aggregate_with(strategy: Strategy, *answers: dict[str, Any]) -> list[float]:
    enable_messages()
    nodes = range(3, 3 + len(answers))
    requests = number_messages(
        [Message(RecordDict({"config": ConfigRecord()}), node, MessageType.TRAIN) for node in nodes]
    )
    replies = [
        Message(with_flowers_arrays(content(answer)), reply_to=to) for answer, to in zip(answers, requests, strict=True)
    ]
    arrays, _ = strategy.aggregate_train(1, replies)
    assert arrays is not None
    values: list[float] = arrays["w"].numpy().tolist()
    return values


def with_flowers_arrays(answer: RecordDict) -> RecordDict:
    """With arrays of Flower's own class, which it may take out and change."""
    record = answer["arrays"]
    assert isinstance(record, ArrayRecord)
    copied = ArrayRecord([array.numpy().copy() for array in record.values()])
    answer["arrays"] = ArrayRecord({"w": copied["0"]})
    return answer
