"""Calls of a ClientApp: here, or in further processes of the run where that is faster.

A call has all it depends on with it: the message, the client's state and the number of the message, from which its
generators are seeded. So it does not matter where it is computed: both ways give the same bits.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.app.message.message import make_message
from flwr.clientapp import ClientApp
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.message_pb2 import Message as MessageProto
from flwr.supercore.task_identity import TaskIdentity

from workers.apps.runtime import records
from workers.apps.runtime.seeding import generators_of_client
from workers.queue.computing import die_with_parent

FIRST_NODE = SUPERLINK_NODE_ID + 1
RUN_ID = 1
PARTITION, PARTITIONS = "partition-id", "num-partitions"
WORTH_SECONDS = 0.02
"""A client's time from which further processes pay for the way of its arrays there and back."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClientSetting:
    """What is the same for all clients of a run."""

    config: dict[str, Any]
    clients: int
    seed: int

    def context(self, node: int, state: RecordDict) -> Context:
        return Context(
            run_id=RUN_ID,
            node_id=node,
            node_config={PARTITION: node - FIRST_NODE, PARTITIONS: self.clients},
            state=state,
            run_config=dict(self.config),
        )


@dataclass(frozen=True)
class ClientAnswer:
    """`state` is the client's afterwards; where it failed, as it was before, as in Flower."""

    answer: RecordDict | Error
    state: RecordDict
    trace: str = ""


def call_client(
    client_app: ClientApp, setting: ClientSetting, request: Message, state: RecordDict, number: int
) -> ClientAnswer:
    """The answer to the client's message of that number. What it raises becomes its answer."""
    node = request.metadata.dst_node_id
    incoming = make_message(request.metadata, content=records.copy_records(request.content))
    context = setting.context(node, records.copy_records(state))
    try:
        with generators_of_client(setting.seed, node=node - FIRST_NODE, message=number):
            enter_node(node)
            reply = client_app(incoming, context)
        answer: RecordDict | Error
        if reply.has_error():
            answer = Error(reply.error.code, reply.error.reason)
        else:
            answer = records.copy_records(reply.content)
        return ClientAnswer(answer, records.copy_records(context.state))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return ClientAnswer(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason), state, traceback.format_exc())
    finally:
        enter_node(SUPERLINK_NODE_ID)


def enter_node(node: int) -> None:
    """Flower asks the process who it is when a message is made."""
    TaskIdentity.task_id = node
    TaskIdentity.run_id = RUN_ID
    TaskIdentity.node_id = node


class Clients:
    """All clients of a run. Once a client has been slow, batches go to `processes` processes."""

    def __init__(
        self,
        client_app: ClientApp,
        setting: ClientSetting,
        *,
        processes: int = 1,
        folder: Path | None = None,
        clientapp: str = "",
    ) -> None:
        self.client_app, self.setting, self.processes = client_app, setting, processes
        self.folder, self.clientapp = folder, clientapp
        self.states = {FIRST_NODE + place: RecordDict() for place in range(setting.clients)}
        self.pool: ClientPool | None = None
        self.slowest = 0.0

    def call(self, requests: Sequence[tuple[Message, int]]) -> list[ClientAnswer]:
        """Answers in the order of the requests; a client's state is kept for its next message."""
        nodes = [request.metadata.dst_node_id for request, _ in requests]
        if self.worth_a_pool and len(set(nodes)) == len(nodes) > 1:
            answers = self.start_pool().call(
                [(request, self.states[node], number) for (request, number), node in zip(requests, nodes, strict=True)]
            )
            for node, answer in zip(nodes, answers, strict=True):
                self.states[node] = answer.state
            return answers
        return [self.call_one(request, number) for request, number in requests]

    def call_one(self, request: Message, number: int) -> ClientAnswer:
        node, began = request.metadata.dst_node_id, perf_counter()
        answer = call_client(self.client_app, self.setting, request, self.states[node], number)
        self.states[node] = answer.state
        if number > 1:
            # The first message of a client pays for imports and data.
            self.slowest = max(self.slowest, perf_counter() - began)
        return answer

    @property
    def worth_a_pool(self) -> bool:
        return self.processes > 1 and self.folder is not None and self.slowest > WORTH_SECONDS

    def start_pool(self) -> ClientPool:
        if self.pool is None:
            assert self.folder is not None
            logger.info("Clients are computed in %s processes.", self.processes)
            self.pool = ClientPool(self.processes, self.folder, self.clientapp, self.setting)
        return self.pool


class ClientPool:
    """Processes that import the app once and answer messages; a node always goes to the same one."""

    def __init__(self, processes: int, folder: Path, clientapp: str, setting: ClientSetting) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.links: list[Connection] = []
        for _ in range(processes):
            ours, theirs = spawn.Pipe()
            arguments = (theirs, os.getpid(), str(folder), clientapp, setting)
            spawn.Process(target=serve_clients, args=arguments, daemon=True).start()
            theirs.close()
            self.links.append(ours)

    def call(self, requests: Sequence[tuple[Message, RecordDict, int]]) -> list[ClientAnswer]:
        links = [self.links[request.metadata.dst_node_id % len(self.links)] for request, _, _ in requests]
        for link, (request, state, number) in zip(links, requests, strict=True):
            link.send((message_to_proto(request).SerializeToString(), records.to_bytes(state), number))
        return [unpack_answer(link.recv()) for link in links]


def serve_clients(link: Connection, parent: int, folder: str, clientapp: str, setting: ClientSetting) -> None:
    """Until the run's process ends. Whatever an app raises on import, it raised there before."""
    from workers.apps.runtime.loading import load_client_app

    die_with_parent(parent)
    client_app = load_client_app(Path(folder), clientapp)
    while True:
        try:
            data, state, number = link.recv()
        except EOFError:
            return
        request = message_from_proto(MessageProto.FromString(data))
        link.send(pack_answer(call_client(client_app, setting, request, records.from_bytes(state), number)))


Packed = tuple[bytes | None, tuple[int, str | None] | None, bytes, str]


def pack_answer(answer: ClientAnswer) -> Packed:
    state = records.to_bytes(answer.state)
    if isinstance(answer.answer, Error):
        return None, (answer.answer.code, answer.answer.reason), state, answer.trace
    return records.to_bytes(answer.answer), None, state, answer.trace


def unpack_answer(packed: Packed) -> ClientAnswer:
    content, error, state, trace = packed
    answer = Error(*error) if content is None and error is not None else records.from_bytes(content or b"")
    return ClientAnswer(answer, records.from_bytes(state), trace)
