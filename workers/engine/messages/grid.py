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

from workers.engine.execution.executors import Executor, ExecutorError
from workers.engine.messages.arrays import Tensors, tensors_of
from workers.engine.messages.exchange import (
    RAISED,
    UNAVAILABLE,
    assignment_of,
    assignment_of_tasks,
    dropped_out_error,
    reply_contents,
    tasks_in,
)
from workers.engine.messages.flower import enable_messages, number_messages
from workers.engine.messages.message_keys import ARRAYS, METRICS
from workers.engine.server.participation import Participation
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
        executor: Executor,
        device: torch.device,
        evaluate: ClientEvaluation,
    ) -> None:
        enable_messages()
        self.participation, self.executor, self.device, self.evaluate = participation, executor, device, evaluate
        self.round = 1
        self.errors: list[Exception] = []
        self.unread_replies: dict[str, Message] = {}

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
        self.unread_replies.update({reply.metadata.reply_to_message_id: reply for reply in replies})
        return [reply.metadata.reply_to_message_id for reply in replies]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return [self.unread_replies.pop(each) for each in message_ids if each in self.unread_replies]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        requests = sorted(number_messages(messages), key=lambda message: message.metadata.dst_node_id)
        self.errors = []
        answers: dict[int, RecordDict | Error] = {}
        for group in group_by_content(requests):
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
                return self.train_clients({client_of(request): request.content for request in requests})
            if kind == MessageType.EVALUATE:
                return self.evaluate_clients(requests[0].content, clients)
        except (StopRequested, ExecutorError, KeyboardInterrupt):
            raise
        except Exception as error:  # whatever a rule or a model raises becomes the clients' answer
            self.errors.append(error)
            return dict.fromkeys(clients, Error(RAISED, "".join(traceback.format_exception(error))))
        return dict.fromkeys(clients, Error(RAISED, f"Clients here do not answer messages of type {kind}."))

    def train_clients(self, contents: dict[int, RecordDict]) -> dict[int, RecordDict | Error]:
        failing = self.participation.failing_clients(self.round, list(contents))
        answers: dict[int, RecordDict | Error] = {client: dropped_out_error() for client in failing}
        working = {client: content for client, content in contents.items() if client not in failing}
        if working:
            answers.update(reply_contents(self.executor.train(self.make_assignment(working))))
        return answers

    def make_assignment(self, contents: dict[int, RecordDict]) -> Assignment:
        content = next(iter(contents.values()))
        if tasks_in(content):
            return assignment_of_tasks(contents, self.round, self.participation, self.device)
        return assignment_of(content, list(contents), self.round, self.participation, self.device)

    def evaluate_clients(self, content: RecordDict, clients: list[int]) -> dict[int, RecordDict | Error]:
        record = content[ARRAYS]
        assert isinstance(record, ArrayRecord)
        metrics = self.evaluate(tensors_of(record, self.device), clients)
        nothing = Error(UNAVAILABLE, "The client holds nothing out.")
        return {
            client: RecordDict({METRICS: MetricRecord(dict(metrics[client]))}) if client in metrics else nothing
            for client in clients
        }


def client_of(message: Message) -> int:
    return message.metadata.dst_node_id - FIRST_NODE


def group_by_content(requests: Iterable[Message]) -> list[list[Message]]:
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
