"""A server with two parameters and replies made by hand."""

from __future__ import annotations

from typing import Any

import torch
from flwr.app import ConfigRecord, Message, MetricRecord, RecordDict

from tests.workers.engine.tiny import tiny
from workers.catalog import load_catalog
from workers.engine.messages.arrays import record_of, tensors_of
from workers.engine.messages.flower import enable_messages, number_messages
from workers.engine.messages.message_keys import ARRAYS, METRICS
from workers.engine.server.method import Method, MethodContext
from workers.spec import parse_run


class Nodes:
    """All a strategy asks of a grid."""

    def __init__(self, count: int) -> None:
        self.ids = list(range(3, 3 + count))

    def get_node_ids(self) -> list[int]:
        return self.ids

    def client(self, node: int) -> int:
        return node - 3


def tensors(**values: list[float]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}


class Server:
    """Drives one strategy: `round` takes the model and what each client answers, and returns the new model."""

    def __init__(self, strategy: dict[str, Any], start: dict[str, torch.Tensor], **context: Any) -> None:
        enable_messages()
        spec = parse_run(tiny(strategy=strategy))
        self.method: Method = (
            load_catalog().strategies[spec.strategy.name].build(spec.strategy, MethodContext(spec, start, **context))
        )
        self.model, self.number = start, 0
        self.requests: list[Message] = []

    def round(self, *answers: dict[str, Any]) -> dict[str, list[float]]:
        """An answer has `samples`, the model's values, and further records or metrics under their own names."""
        self.number += 1
        server, nodes = self.method.server, Nodes(len(answers))
        self.requests = number_messages(
            server.configure_train(self.number, record_of(self.model), ConfigRecord(), nodes)  # type: ignore[arg-type]
        )
        replies = [
            Message(content(answer), reply_to=request) for answer, request in zip(answers, self.requests, strict=True)
        ]
        arrays, _ = server.aggregate_train(self.number, replies)
        if arrays is not None:
            self.model = tensors_of(arrays)
        return {name: value.tolist() for name, value in self.model.items()}


def content(answer: dict[str, Any]) -> RecordDict:
    records = {name: record_of(tensors(**value)) for name, value in answer.items() if isinstance(value, dict)}
    metrics = {"num-examples": answer["samples"], "train-loss": 0.0, "steps": 1, **answer.get("metrics", {})}
    return RecordDict({**{k: v for k, v in records.items() if k != METRICS}, METRICS: MetricRecord(metrics)})


def answer(samples: int, w: list[float], **rest: Any) -> dict[str, Any]:
    return {"samples": samples, ARRAYS: {"w": w}, **rest}
