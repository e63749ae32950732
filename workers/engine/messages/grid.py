"""A Flower `Grid` inside one process: the nodes are the round's cohort, and sending means training it.

Stock strategies run on it through `Strategy.start`: the grid goes to the next round after each training exchange.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from flwr.app import ArrayRecord, Error, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid

from workers.engine.data.participation import Participation
from workers.engine.execution.executors import Path
from workers.engine.messages.arrays import Tensors, tensors_of
from workers.engine.messages.exchange import (
    RAISED,
    UNAVAILABLE,
    assignment_of,
    assignment_of_tasks,
    contents_of,
    dropped_out,
    tasks_in,
)
from workers.engine.messages.flower import enter_process, number
from workers.engine.messages.message_keys import ARRAYS, METRICS
from workers.engine.training.trainer import Assignment
from workers.errors import StopRequested

FIRST_NODE = 3
"""Node id of client 0; 1 is the server's, 2 the shared client's (-1)."""

ClientEvaluation = Callable[[Tensors, Sequence[int]], dict[int, dict[str, float]]]


class CohortGrid(Grid):
    """Fixed node ids, replies ordered by them. `errors` keeps what clients raised in the last exchange."""

    def __init__(
        self,
        participation: Participation,
        path: Path,
        device: torch.device,
        evaluate: ClientEvaluation,
    ) -> None:
        enter_process()
        self.participation, self.path, self.device, self.evaluate = participation, path, device, evaluate
        self.round = 1
        self.errors: list[Exception] = []
        self.waiting: dict[str, Message] = {}

    def set_run(self, run: Any) -> None:
        """Flower's interface; there is one run in this process."""

    @property
    def run(self) -> Any:
        raise RuntimeError("This grid lives inside one process: there is no Flower run behind it.")

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def client(self, node: int) -> int:
        return node - FIRST_NODE

    def get_node_ids(self) -> Iterable[int]:
        return [client + FIRST_NODE for client in self.participation.cohort(self.round)]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        replies = self.send_and_receive(messages)
        self.waiting.update({reply.metadata.reply_to_message_id: reply for reply in replies})
        return [reply.metadata.reply_to_message_id for reply in replies]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return [self.waiting.pop(each) for each in message_ids if each in self.waiting]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        requests = sorted(number(messages), key=lambda message: message.metadata.dst_node_id)
        self.errors = []
        answers: dict[int, RecordDict | Error] = {}
        for group in shared_contents(requests):
            answers.update(self.answer(group))
        if any(request.metadata.message_type == MessageType.TRAIN for request in requests):
            self.round += 1
        return [reply_to(request, answers[client_of(request)]) for request in requests]

    def answer(self, requests: list[Message]) -> dict[int, RecordDict | Error]:
        """Answers of clients that got the same request, or models that train together."""
        kind = requests[0].metadata.message_type
        clients = [client_of(request) for request in requests]
        try:
            if kind == MessageType.TRAIN:
                return self.trained({client_of(request): request.content for request in requests})
            if kind == MessageType.EVALUATE:
                return self.evaluated(requests[0].content, clients)
        except (StopRequested, KeyboardInterrupt):
            raise
        except Exception as error:  # whatever a rule or a model raises becomes the clients' answer
            self.errors.append(error)
            return dict.fromkeys(clients, Error(RAISED, "".join(traceback.format_exception(error))))
        return dict.fromkeys(clients, Error(RAISED, f"Clients here do not answer messages of type {kind}."))

    def trained(self, contents: dict[int, RecordDict]) -> dict[int, RecordDict | Error]:
        failing = self.participation.failing(self.round, list(contents))
        answers: dict[int, RecordDict | Error] = {client: dropped_out() for client in failing}
        able = {client: content for client, content in contents.items() if client not in failing}
        if able:
            answers.update(contents_of(self.path.train(self.assignment(able))))
        return answers

    def assignment(self, contents: dict[int, RecordDict]) -> Assignment:
        content = next(iter(contents.values()))
        if tasks_in(content):
            return assignment_of_tasks(contents, self.round, self.participation, self.device)
        return assignment_of(content, list(contents), self.round, self.participation, self.device)

    def evaluated(self, content: RecordDict, clients: list[int]) -> dict[int, RecordDict | Error]:
        record = content[ARRAYS]
        assert isinstance(record, ArrayRecord)
        found = self.evaluate(tensors_of(record, self.device), clients)
        nothing = Error(UNAVAILABLE, "The client holds nothing out.")
        return {
            client: RecordDict({METRICS: MetricRecord(dict(found[client]))}) if client in found else nothing
            for client in clients
        }


def client_of(message: Message) -> int:
    return message.metadata.dst_node_id - FIRST_NODE


def shared_contents(requests: Iterable[Message]) -> list[list[Message]]:
    """Requests grouped by content and kind: strategies send one content object to the whole cohort.

    Requests with models by task are one group, although their models differ.
    """
    groups: dict[tuple[int, str], list[Message]] = {}
    for request in requests:
        content = 0 if tasks_in(request.content) else id(request.content)
        groups.setdefault((content, request.metadata.message_type), []).append(request)
    return list(groups.values())


def reply_to(request: Message, answer: RecordDict | Error) -> Message:
    return Message(answer, reply_to=request)
