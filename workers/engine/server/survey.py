"""What happens before the first round where a method wants to know its clients: each trains a model for itself."""

from __future__ import annotations

from flwr.app import ConfigRecord, Message, MessageType, RecordDict

from workers.engine.execution.choice import PATHS
from workers.engine.messages.arrays import Tensors, record_of, tensors_of
from workers.engine.messages.grid import CohortGrid
from workers.engine.messages.message_keys import ARRAYS, CONFIG, ROUND
from workers.engine.server.averaging import array_record
from workers.engine.server.loop import client_values, refuse_broken, traffic, work_done
from workers.engine.server.method import Survey
from workers.engine.setup import Setup, make_setup

NUMBER = 0
"""The round that its random streams belong to, and that its bytes count in."""


def surveyed(survey: Survey, setup: Setup, engine: str) -> tuple[Tensors, dict[str, float]]:
    """The model the rounds start from, and round 0's metrics: bytes, steps, and what the method tells."""
    own = make_setup(survey.spec, setup.device, setup.trainer.stop, setup.federation)
    path = PATHS[engine](own.trainer)
    try:
        grid = CohortGrid(own.participation, path, own.device, own.evaluator.per_client)
        grid.round = NUMBER
        content = RecordDict({ARRAYS: record_of(own.initial), CONFIG: ConfigRecord({ROUND: NUMBER})})
        requests = [Message(content, node, MessageType.TRAIN) for node in grid.get_node_ids()]
        replies = grid.send_and_receive(requests)
    finally:
        path.close()
    refuse_broken(NUMBER, replies)
    by_client = {grid.client(reply.metadata.src_node_id): reply for reply in replies}
    start, told = survey.learn({client: parameters(reply, own) for client, reply in by_client.items()})
    values = {client: client_values(reply) for client, reply in by_client.items()}
    done = work_done(values, survey.spec, padded=own.trainer.padded)
    return start, {**traffic(requests, replies), **done, **told}


def parameters(reply: Message, setup: Setup) -> Tensors:
    model = tensors_of(array_record(reply.content, ARRAYS))
    return {name: model[name] for name in setup.network.parameters}
