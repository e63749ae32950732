from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp.strategy import FedAvg

from tests.workers.engine.tiny import tiny
from workers.engine import simulate
from workers.engine.execution.executors import make_executor
from workers.engine.messages.arrays import record_of, tensors_of
from workers.engine.messages.flower import quiet_flower
from workers.engine.messages.grid import CohortGrid
from workers.engine.messages.message_keys import ROUND
from workers.engine.setup import Setup, make_setup
from workers.engine.training.rule import LocalRule, LocalStep, LocalWork
from workers.spec import parse_run


def setup_of(**changes: object) -> Setup:
    return make_setup(parse_run(tiny(**changes)), torch.device("cpu"))


def grid_of(setup: Setup) -> CohortGrid:
    return CohortGrid(
        setup.participation, make_executor(setup, "cohort"), setup.device, setup.evaluator.evaluate_per_client
    )


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet_flower():
        yield


@pytest.mark.parametrize("where", ["server", "clients"])
def test_stock_fedavg_runs_on_it_unmodified_and_equals_simulate(where: str) -> None:
    evaluation = {"on": where}
    setup = setup_of(evaluation=evaluation)

    stock = FedAvg(min_train_nodes=1, min_evaluate_nodes=1, min_available_nodes=1)
    result = stock.start(grid_of(setup), record_of(setup.initial), num_rounds=3)

    ours = simulate(tiny(evaluation=evaluation))
    assert result.arrays.keys() == ours.parameters.keys()
    for name, array in result.arrays.items():
        np.testing.assert_allclose(array.numpy(), ours.parameters[name], rtol=0, atol=1e-14)
    losses = [record.metrics["train_loss"] for record in ours.history[1:]]
    for number, loss in enumerate(losses, start=1):
        assert result.train_metrics_clientapp[number]["train-loss"] == pytest.approx(loss, abs=1e-14)


def test_evaluate_messages_are_answered_from_the_held_out_parts() -> None:
    setup = setup_of(evaluation={"on": "clients"}, cohort=None)
    model = setup.initial

    stock = FedAvg(min_train_nodes=1, min_evaluate_nodes=1, min_available_nodes=1)
    grid = grid_of(setup)
    replies = grid.send_and_receive(stock.configure_evaluate(1, record_of(model), ConfigRecord(), grid))

    result = setup.evaluator.evaluate(model, ())
    metrics = stock.aggregate_evaluate(1, replies)
    assert metrics is not None
    assert metrics["accuracy"] == pytest.approx(result.metrics["accuracy"], abs=1e-12)
    assert metrics["loss"] == pytest.approx(result.metrics["loss"], abs=1e-12)


def test_nodes_are_the_rounds_cohort_and_replies_keep_their_order() -> None:
    setup = setup_of()
    grid = grid_of(setup)
    nodes = list(grid.get_node_ids())
    content = RecordDict({"arrays": record_of(setup.initial), "config": ConfigRecord({ROUND: 1})})

    replies = grid.send_and_receive([Message(content, node, MessageType.TRAIN) for node in reversed(nodes)])

    assert nodes == [client + 3 for client in setup.participation.cohort(1)]
    assert [reply.metadata.src_node_id for reply in replies] == nodes
    assert list(grid.get_node_ids()) == [client + 3 for client in setup.participation.cohort(2)]


def test_messages_can_be_pushed_and_their_replies_pulled() -> None:
    setup = setup_of()
    grid = grid_of(setup)
    content = RecordDict({"arrays": record_of(setup.initial)})
    (node, *_) = grid.get_node_ids()

    (ticket,) = grid.push_messages([grid.create_message(content, MessageType.TRAIN, node, "1")])

    (reply,) = grid.pull_messages([ticket])
    assert reply.has_content()
    assert list(grid.pull_messages([ticket])) == []


class Failing(LocalRule):
    changes_gradients = True

    def gradient(self, work: LocalWork, step: LocalStep) -> None:
        raise ArithmeticError("no gradient today")


def test_what_a_client_raises_becomes_a_flower_error_message() -> None:
    setup = setup_of()
    setup = replace(setup, trainer=replace(setup.trainer, rule=Failing()))
    grid = grid_of(setup)
    content = RecordDict({"arrays": record_of(setup.initial)})

    replies = grid.send_and_receive([Message(content, node, MessageType.TRAIN) for node in grid.get_node_ids()])

    assert [reply.has_error() for reply in replies] == [True, True, True]
    assert "no gradient today" in str(replies[0].error.reason)


def test_unknown_messages_and_messages_without_a_model_are_refused_by_name() -> None:
    grid = grid_of(setup_of())
    (node, *_) = grid.get_node_ids()

    (query,) = grid.send_and_receive([Message(RecordDict(), node, MessageType.QUERY)])
    (empty,) = grid.send_and_receive([Message(RecordDict({"other": ArrayRecord()}), node, MessageType.TRAIN)])

    assert "do not answer messages of type query" in str(query.error.reason)
    assert "needs a model under 'arrays'; it has other" in str(empty.error.reason)


def test_replies_are_rows_of_the_stack_that_was_trained() -> None:
    setup = setup_of()
    grid = grid_of(setup)
    content = RecordDict({"arrays": record_of(setup.initial)})
    replies = grid.send_and_receive([Message(content, node, MessageType.TRAIN) for node in grid.get_node_ids()])

    records = [reply.content["arrays"] for reply in replies]

    stacks = {id(record["1.weight"].stack) for record in records}  # type: ignore[union-attr]
    assert len(stacks) == 1
    assert tensors_of(records[0])["1.weight"].shape == (3, 4)  # type: ignore[arg-type]
