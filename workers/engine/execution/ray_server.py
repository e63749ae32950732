"""The process behind `engine: ray`: Flower's Ray runtime, with a ServerApp that passes on what its parent sends.

    python -m workers.engine.execution.ray_server FD     FD: the child's end of a socket pair

The first message on the socket is the `Start`, then each `Exchange` is answered with a list of replies. When the
socket closes, because the run ended or the parent died, everything started here ends too.
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
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Start:
    spec: str
    device: str
    nodes: int
    client_cpus: float
    client_gpus: float
    cpus: int | None
    """Processors of a Ray that is started here; None joins the cluster at RAY_ADDRESS."""
    folder: str


@dataclass(frozen=True)
class Errand:
    """What is one client's own in an exchange."""

    client: int
    part: float | None
    kept: Arrays
    task: str | None = None


@dataclass(frozen=True)
class Exchange:
    round: int
    model: Arrays
    was_sent: bool
    received: dict[str, Arrays]
    config: dict[str, Any]
    errands: list[Errand]
    models: dict[str | None, Arrays] = field(default_factory=dict)
    """By task, where clients have several or different ones; in place of `model`."""


@dataclass(frozen=True)
class Answer:
    """A client's reply as plain data, or why there is none."""

    error: str | None = None
    model: Arrays = field(default_factory=dict)
    kept: Arrays = field(default_factory=dict)
    extra: dict[str, Arrays] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


def main(descriptor: int) -> None:
    parent = Connection(descriptor)
    start: Start = parent.recv()
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
        except (EOFError, ConnectionError):
            end_now()

    run_simulation(server, app, start.nodes, backend_config=backend(start))


def backend(start: Start) -> Any:
    arguments: dict[str, Any] = {"include_dashboard": False}
    if start.cpus is not None:
        arguments |= {"num_cpus": start.cpus, "_temp_dir": start.folder}
    resources = {"num_cpus": start.client_cpus, "num_gpus": start.client_gpus}
    return {"init_args": arguments, "client_resources": resources}


def end_now() -> None:
    """Flower's own way out waits for clients that nobody waits for any more."""
    import ray

    ray.shutdown()
    os._exit(0)


def serve(parent: Connection, grid: Any, start: Start) -> None:
    while len(nodes := sorted(grid.get_node_ids())) < start.nodes:
        time.sleep(PULL_SECONDS)
    parent.send("ready")
    while True:
        parent.send(exchanged(parent, grid, nodes, start, parent.recv()))


def exchanged(parent: Connection, grid: Any, nodes: list[int], start: Start, exchange: Exchange) -> list[Answer]:
    """Answers in the order of the errands. A word from the parent while it waits means that it has gone."""
    sent = list(grid.push_messages(messages(nodes, start, exchange)))
    found: dict[str, Any] = {}
    while len(found) < len(sent):
        for reply in grid.pull_messages([each for each in sent if each not in found]):
            found[reply.metadata.reply_to_message_id] = reply
        if parent.poll(PULL_SECONDS):
            raise EOFError
    return [answer(found[each]) for each in sent]


def messages(nodes: list[int], start: Start, exchange: Exchange) -> list[Any]:
    from flwr.app import Message, MessageType, RecordDict

    from workers.engine.execution.ray_client import FACTS, KEPT, MODEL, RECEIVED, packed, written

    models = {task: packed(arrays) for task, arrays in (exchange.models or {None: exchange.model}).items()}
    received = {f"{RECEIVED}{name}": packed(arrays) for name, arrays in exchange.received.items()}

    def message(node: int, errand: Errand) -> Message:
        facts = written(facts_for(start, exchange, errand))
        own: dict[str, Any] = {MODEL: models[errand.task], KEPT: packed(errand.kept), FACTS: facts}
        return Message(RecordDict({**received, **own}), node, MessageType.TRAIN)

    return [message(nodes[at % len(nodes)], errand) for at, errand in enumerate(exchange.errands)]


def facts_for(start: Start, exchange: Exchange, errand: Errand) -> dict[str, Any]:
    return {
        "spec": start.spec,
        "device": start.device,
        "threads": max(1, int(start.client_cpus)),
        "round": exchange.round,
        "was_sent": exchange.was_sent,
        "config": exchange.config,
        "client": errand.client,
        "task": errand.task,
        "part": errand.part,
    }


def answer(reply: Any) -> Answer:
    from workers.engine.execution.ray_client import EXTRA, KEPT, MODEL, facts_of

    if reply.has_error():
        return Answer(error=reply.error.reason)
    records = {
        name: {key: array.numpy() for key, array in record.items()}
        for name, record in reply.content.array_records.items()
    }
    extra = {name.removeprefix(EXTRA): arrays for name, arrays in records.items() if name.startswith(EXTRA)}
    return Answer(model=records[MODEL], kept=records[KEPT], extra=extra, facts=facts_of(reply.content))


if __name__ == "__main__":
    # The classes of the messages must be those that the parent knows, not ones of `__main__`.
    from workers.engine.execution import ray_server

    ray_server.main(int(sys.argv[1]))
