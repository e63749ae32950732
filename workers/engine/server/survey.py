"""What happens before the first round where a method wants to know its clients: each trains a model for itself."""

from __future__ import annotations

from flwr.app import ConfigRecord, Message, MessageType, RecordDict

from workers.engine.execution.executors import EXECUTORS
from workers.engine.messages.arrays import Tensors, record_of, tensors_of
from workers.engine.messages.grid import CohortGrid
from workers.engine.messages.message_keys import ARRAYS, CONFIG, ROUND
from workers.engine.server.averaging import array_record
from workers.engine.server.loop import client_values, raise_client_errors, traffic_metrics, work_metrics
from workers.engine.server.method import Survey
from workers.engine.setup import Setup, make_setup

SURVEY_ROUND = 0
"""The round that its random streams belong to, and that its bytes count in."""


def run_survey(survey: Survey, setup: Setup, engine: str) -> tuple[Tensors, dict[str, float]]:
    """The model the rounds start from, and round 0's metrics: bytes, steps, and what the method tells."""
    own = make_setup(survey.spec, setup.device, setup.trainer.stop, setup.federation)
    executor = EXECUTORS[engine](own.trainer)
    try:
        grid = CohortGrid(own.participation, executor, own.device, own.evaluator.evaluate_per_client)
        grid.round = SURVEY_ROUND
        content = RecordDict({ARRAYS: record_of(own.initial), CONFIG: ConfigRecord({ROUND: SURVEY_ROUND})})
        requests = [Message(content, node, MessageType.TRAIN) for node in grid.get_node_ids()]
        replies = grid.send_and_receive(requests)
    finally:
        executor.close()
    raise_client_errors(SURVEY_ROUND, replies)
    by_client = {grid.client(reply.metadata.src_node_id): reply for reply in replies}
    start, metrics = survey.learn({client: reply_parameters(reply, own) for client, reply in by_client.items()})
    values = {client: client_values(reply) for client, reply in by_client.items()}
    work = work_metrics(values, survey.spec, padded=own.trainer.padded)
    return start, {**traffic_metrics(requests, replies), **work, **metrics}


def reply_parameters(reply: Message, setup: Setup) -> Tensors:
    model = tensors_of(array_record(reply.content, ARRAYS))
    return {name: model[name] for name in setup.network.parameters}
