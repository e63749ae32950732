from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flwr.app import ArrayRecord, RecordDict

from workers.engine.arrays import Tensors, tensor_of, weighted_mean
from workers.engine.method import MethodContext
from workers.engine.names import ARRAYS
from workers.engine.rule import Contribution, LocalRule, LocalWork
from workers.engine.server import Averaging, array_record, metric

LOSS_BEFORE = "loss-before"
LEAST_LOSS = 1e-10
"""F^(q-1) has no value at 0 for q < 1; the authors' own code keeps the same distance."""


class LossBefore(LocalRule):
    """Sends F_i along: the global model's loss over all training samples of the client."""

    def start(self, work: LocalWork) -> None:
        count = len(work.clients)
        model = {name: work.anchor[name].expand(count, *work.anchor[name].shape) for name in work.anchor}
        losses, _ = work.mean_loss("train", model)
        work.rule[LOSS_BEFORE] = losses.tolist()

    def finish(self, work: LocalWork) -> Contribution:
        return Contribution(metrics={LOSS_BEFORE: work.rule[LOSS_BEFORE]})


class Fair(Averaging):
    """w <- w - sum_i F_i^q L (w - w_i) / sum_i h_i, which is a mean of w and all w_i."""

    def __init__(self, context: MethodContext, q: float, lr: float) -> None:
        super().__init__(context)
        self.q, self.lipschitz = q, 1 / lr

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        records = [array_record(reply, ARRAYS) for reply in replies]
        names = [name for name in records[0] if name not in self.buffers]
        losses = np.maximum([metric(reply, LOSS_BEFORE) for reply in replies], LEAST_LOSS)
        factors = self.factors(losses, np.array([self.moved(record, names) for record in records])).tolist()
        mean = weighted_mean(records, factors, names)
        result = self.mean(replies) if self.buffers else {}
        return {**result, **{name: self.sent[name] * (1 - sum(factors)) + mean[name] for name in names}}

    def factors(self, losses: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """What each w_i counts. All is over L and the highest F^q, which cancel out: F^q may exceed every number."""
        with np.errstate(all="ignore"):
            powers = (losses / losses.max()) ** self.q
            curvatures = powers * (self.q * self.lipschitz * moved / losses + 1)
            shares: np.ndarray = powers / curvatures.sum()
            return shares

    def moved(self, record: ArrayRecord, names: Sequence[str]) -> float:
        """||w - w_i||^2."""
        squares = [float((self.sent[name] - tensor_of(record[name])).square().sum()) for name in names]
        return float(np.sum(squares))
