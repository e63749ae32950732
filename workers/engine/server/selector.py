"""Chooses a round's cohort where it is not drawn uniformly, and counts what the choice costs."""

from __future__ import annotations

import numpy as np

from workers.engine.evaluation import Evaluator
from workers.engine.messages.arrays import SCALAR_BYTES, Tensors
from workers.engine.server.participation import Participation
from workers.selection.selections import Draw
from workers.streams import stream


class Selector:
    def __init__(self, participation: Participation, evaluator: Evaluator) -> None:
        self.participation, self.evaluator = participation, evaluator
        clients = evaluator.clients
        self.sizes = clients.sizes[clients.own]

    def select(self, number: int, model: Tensors) -> dict[str, float]:
        """Tells the participation of the round, and returns the bytes that came of choosing."""
        spec, clients = self.participation.spec, self.participation.candidates
        asked: list[int] = []

        def losses(of: np.ndarray) -> np.ndarray:
            asked.extend(of.tolist())
            return self.evaluator.train_losses(model, of.tolist())

        count = spec.cohort_among(len(clients))
        rng, order = stream(spec.seed, "sampling", round=number), stream(spec.seed, "sampling")
        cohort = spec.selection.choose(Draw(clients, self.sizes, count, number, rng, order, losses))
        self.participation.selected = number, np.sort(cohort).tolist()
        model_bytes = sum(tensor.nbytes for tensor in model.values())
        others = len(set(asked) - set(cohort.tolist()))
        return {"bytes_down": float(others * model_bytes), "bytes_up": float(SCALAR_BYTES * len(asked))}
