from __future__ import annotations

from threading import Event
from time import sleep

import pytest
import torch

from tests.workers.engine.tiny import tiny
from workers.engine.execution.executors import SequentialExecutor
from workers.engine.setup import make_setup
from workers.engine.training.trainer import Assignment, Outcome
from workers.errors import StopRequested
from workers.spec import parse_run


def test_a_round_that_breaks_off_is_over_before_it_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a client on another thread keeps what it learned in a round that did not happen."""
    setup = make_setup(parse_run(tiny(cohort=None)), torch.device("cpu"))
    executor, ended, begun = SequentialExecutor(setup.trainer, 2), [], Event()

    def train_group(assignment: Assignment) -> list[Outcome]:
        client = assignment.clients[0].index
        if client == 0:
            begun.wait(20)
            raise StopRequested("Now.")
        begun.set()
        sleep(0.2)
        ended.append(client)
        return []

    monkeypatch.setattr(executor, "train_group", train_group)
    with pytest.raises(StopRequested):
        executor.train(Assignment(1, setup.federation.clients[:4], setup.initial))
    at_the_end = list(ended)
    sleep(0.5)
    executor.close()

    assert ended == at_the_end
