"""Clients fine-tune the server's model before they are evaluated: what each ends with is measured and forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workers.engine.execution.executors import EXECUTORS
from workers.engine.messages.arrays import Tensors
from workers.engine.setup import Setup
from workers.engine.training.rule import ClientStore, LocalRule
from workers.engine.training.trainer import Assignment
from workers.spec import RunSpec


class FineTuner:
    """Plain local training of `spec`, by the engine of the run; Ray's clients are computed here, one at a time."""

    def __init__(self, spec: RunSpec, setup: Setup, engine: str) -> None:
        self.clients = setup.participation.clients
        trainer = replace(setup.trainer, spec=spec, rule=LocalRule(), store=ClientStore())
        self.executor = EXECUTORS["cohort" if engine == "cohort" else "sequential"](trainer)

    def models(self, number: int, model: Tensors, clients: Sequence[int]) -> dict[int, Tensors]:
        """The model of each client, on its batches of that round. They are as many models as clients, at once."""
        if not clients:
            return {}
        outcomes = self.executor.train(Assignment(number, [self.clients[client] for client in clients], model))
        return {
            client: {name: stack[row] for name, stack in outcome.model.items()}
            for outcome in outcomes
            for row, client in enumerate(outcome.clients)
        }

    def close(self) -> None:
        self.executor.close()
