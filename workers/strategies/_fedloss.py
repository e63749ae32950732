from __future__ import annotations

import math
from collections.abc import Sequence

from flwr.app import RecordDict

from workers.engine.arrays import Tensors
from workers.engine.method import MethodContext
from workers.engine.names import SAMPLES
from workers.engine.rule import Contribution, LocalRule, LocalWork
from workers.engine.server import Averaging, metric, weights_of

VALIDATION_LOSS, VALIDATED = "validation-loss", "validated"


class Validating(LocalRule):
    """Sends the loss of the trained model on the client's validation part along with it."""

    def finish(self, work: LocalWork) -> Contribution:
        losses, samples = work.mean_loss("validation", {**work.params, **work.buffers})
        return Contribution(metrics={VALIDATION_LOSS: losses.tolist(), VALIDATED: samples.tolist()})


class LossWeighted(Averaging):
    """w <- sum_i (l_i / sum_j l_j) w_i, or with l_i n_i in place of l_i."""

    def __init__(self, context: MethodContext, *, with_samples: bool) -> None:
        super().__init__(context)
        self.with_samples = with_samples

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        weights = self.weights(replies)
        self.reported["fedloss.fallback"] = float(weights is None)
        return self.mean_with(replies, weights or weights_of(replies))

    def weights(self, replies: Sequence[RecordDict]) -> list[float] | None:
        """None where the losses say nothing."""
        known = [metric(reply, VALIDATION_LOSS) for reply in replies if metric(reply, VALIDATED)]
        if not known or not all(map(math.isfinite, known)):
            return None
        usual = sum(known) / len(known)
        losses = [metric(reply, VALIDATION_LOSS) if metric(reply, VALIDATED) else usual for reply in replies]
        if self.with_samples:
            losses = [loss * metric(reply, SAMPLES) for loss, reply in zip(losses, replies, strict=True)]
        total = sum(losses)
        return [loss / total for loss in losses] if 0 < total < math.inf else None
