"""The process behind `engine: ray`: Flower's Ray runtime, with a ServerApp that passes on what its parent sends.

    python -m workers.engine.execution.ray_server FD     FD: the child's end of a socket pair

The first message on the socket is the `StartRequest`, then each `RoundRequest` is answered with a list of replies.
When the socket closes, because the run ended or the parent died, everything started here ends too.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

PULL_SECONDS = 0.01
READY = "ready"
NamedArrays = dict[str, np.ndarray]


class Channel:
    """One end of the socket between a run and its Ray runtime.

    `EOFError` says that the other process has gone, however the socket tells it: at the end of what it wrote, in the
    middle of a message, or while one is written to it.
    """

    def __init__(self, descriptor: int) -> None:
        self.connection = Connection(descriptor)

    def send(self, message: Any) -> None:
        try:
            self.connection.send(message)
        except OSError as error:
            raise EOFError(str(error)) from error

    def receive(self) -> Any:
        try:
            return self.connection.recv()
        except OSError as error:
            raise EOFError(str(error)) from error

    def poll(self, seconds: float) -> bool:
        """Whether there is a message, or the other process has gone."""
        return self.connection.poll(seconds)

    def close(self) -> None:
        self.connection.close()


@dataclass(frozen=True)
class StartRequest:
    spec: str
    identity: str
    device: str
    nodes: int
    client_cpus: float
    client_gpus: float
    cpus: int | None
    """Processors of a Ray that is started here; None joins the cluster at RAY_ADDRESS."""
    folder: str


@dataclass(frozen=True)
class ClientRequest:
    """What is one client's own in a round."""

    index: int
    part: float | None
    state: NamedArrays
    task: str | None = None


@dataclass(frozen=True)
class RoundRequest:
    round: int
    model: NamedArrays
    was_sent: bool
    received: dict[str, NamedArrays]
    config: dict[str, Any]
    clients: list[ClientRequest]
    models: dict[str | None, NamedArrays] = field(default_factory=dict)
    """By task, where clients have several or different ones; in place of `model`."""


@dataclass(frozen=True)
class ClientReply:
    """A client's reply as plain data, or why there is none."""

    error: str | None = None
    model: NamedArrays = field(default_factory=dict)
    state: NamedArrays = field(default_factory=dict)
    extra: dict[str, NamedArrays] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


def main(descriptor: int) -> None:
    parent = Channel(descriptor)
    start: StartRequest = parent.receive()
    from flwr.app import Context
    from flwr.serverapp import Grid, ServerApp
    from flwr.simulation import run_simulation

    from workers.engine.execution.ray_client import app

    logging.getLogger("flwr").setLevel(logging.ERROR)
    server = ServerApp()

    @server.main()
    def relay(grid: Grid, context: Context) -> None:
        try:
            serve(parent, grid, start)
        except EOFError:
            exit_now()

    run_simulation(server, app, start.nodes, backend_config=backend_config(start))


def backend_config(start: StartRequest) -> Any:
    arguments: dict[str, Any] = {"include_dashboard": False}
    if start.cpus is not None:
        arguments |= {"num_cpus": start.cpus, "_temp_dir": start.folder}
    resources = {"num_cpus": start.client_cpus, "num_gpus": start.client_gpus}
    return {"init_args": arguments, "client_resources": resources}


def exit_now() -> None:
    """Flower's own way out waits for clients that nobody waits for any more."""
    import ray

    ray.shutdown()
    os._exit(0)


def serve(parent: Channel, grid: Any, start: StartRequest) -> None:
    while len(nodes := sorted(grid.get_node_ids())) < start.nodes:
        time.sleep(PULL_SECONDS)
    parent.send(READY)
    while True:
        parent.send(run_round(parent, grid, nodes, start, parent.receive()))


def run_round(
    parent: Channel, grid: Any, nodes: list[int], start: StartRequest, request: RoundRequest
) -> list[ClientReply]:
    """Replies in the order of the request's clients. A word from the parent while it waits means that it has gone."""
    message_ids = list(grid.push_messages(train_messages(nodes, start, request)))
    replies: dict[str, Any] = {}
    while len(replies) < len(message_ids):
        for reply in grid.pull_messages([each for each in message_ids if each not in replies]):
            replies[reply.metadata.reply_to_message_id] = reply
        if parent.poll(PULL_SECONDS):
            raise EOFError
    return [client_reply(replies[each]) for each in message_ids]


def train_messages(nodes: list[int], start: StartRequest, request: RoundRequest) -> list[Any]:
    from flwr.app import Message, MessageType, RecordDict

    from workers.engine.execution.ray_client import CLIENT_STATE, FACTS, MODEL, RECEIVED, pack_arrays, pack_facts

    models = {task: pack_arrays(arrays) for task, arrays in (request.models or {None: request.model}).items()}
    received = {f"{RECEIVED}{name}": pack_arrays(arrays) for name, arrays in request.received.items()}

    def message(node: int, client: ClientRequest) -> Message:
        facts = pack_facts(request_facts(start, request, client))
        own: dict[str, Any] = {MODEL: models[client.task], CLIENT_STATE: pack_arrays(client.state), FACTS: facts}
        return Message(RecordDict({**received, **own}), node, MessageType.TRAIN)

    return [message(nodes[at % len(nodes)], client) for at, client in enumerate(request.clients)]


def request_facts(start: StartRequest, request: RoundRequest, client: ClientRequest) -> dict[str, Any]:
    return {
        "spec": start.spec,
        "identity": start.identity,
        "device": start.device,
        "round": request.round,
        "was_sent": request.was_sent,
        "config": request.config,
        "client": client.index,
        "task": client.task,
        "part": client.part,
    }


def client_reply(reply: Any) -> ClientReply:
    from workers.engine.execution.ray_client import CLIENT_STATE, EXTRA, MODEL, read_facts

    if reply.has_error():
        return ClientReply(error=reply.error.reason)
    records = {
        name: {key: array.numpy() for key, array in record.items()}
        for name, record in reply.content.array_records.items()
    }
    extra = {name.removeprefix(EXTRA): arrays for name, arrays in records.items() if name.startswith(EXTRA)}
    return ClientReply(model=records[MODEL], state=records[CLIENT_STATE], extra=extra, facts=read_facts(reply.content))


if __name__ == "__main__":
    # The classes of the messages must be those that the parent knows, not ones of `__main__`.
    from workers.engine.execution import ray_server

    ray_server.main(int(sys.argv[1]))
