"""Aggregations that weigh clients by more than their samples, and the client rules that tell them by what."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flwr.app import ArrayRecord, RecordDict

from workers.engine.messages.arrays import Tensors, tensor_of, weighted_mean
from workers.engine.messages.message_keys import ARRAYS, SAMPLES
from workers.engine.server.averaging import array_record, metric, weights_of
from workers.engine.training.rule import Contribution, LocalRule, LocalWork
from workers.strategies._composition import Aggregation, ComposedServer


class UniformMean(Aggregation):
    """Every client counts as one."""

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        return server.mean_with(replies, [1 / len(replies)] * len(replies))


VALIDATION_LOSS, VALIDATED = "validation-loss", "validated"


class ValidationLoss(LocalRule):
    """Sends the loss of the trained model on the client's validation part along with it."""

    def finish(self, work: LocalWork) -> Contribution:
        losses, samples = work.mean_loss("validation", {**work.params, **work.buffers})
        return Contribution(metrics={VALIDATION_LOSS: losses.tolist(), VALIDATED: samples.tolist()})


class LossMean(Aggregation):
    """sum_i (l_i / sum_j l_j) w_i, or with l_i n_i in place of l_i."""

    def __init__(self, *, with_samples: bool) -> None:
        self.with_samples = with_samples

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        weights = self.weights(replies)
        server.reported["fedloss.fallback"] = float(weights is None)
        return server.mean_with(replies, weights or weights_of(replies))

    def weights(self, replies: Sequence[RecordDict]) -> list[float] | None:
        """None where the losses say nothing."""
        known_losses = [metric(reply, VALIDATION_LOSS) for reply in replies if metric(reply, VALIDATED)]
        if not known_losses or not all(map(math.isfinite, known_losses)):
            return None
        usual = sum(known_losses) / len(known_losses)
        losses = [metric(reply, VALIDATION_LOSS) if metric(reply, VALIDATED) else usual for reply in replies]
        if self.with_samples:
            losses = [loss * metric(reply, SAMPLES) for loss, reply in zip(losses, replies, strict=True)]
        total = sum(losses)
        return [loss / total for loss in losses] if 0 < total < math.inf else None


LOSS_BEFORE = "loss-before"
LEAST_LOSS = 1e-10
"""F^(q-1) has no value at 0 for q < 1; the authors' own code keeps the same distance."""


class LossBeforeTraining(LocalRule):
    """Sends F_i along: the global model's loss over all training samples of the client."""

    def start(self, work: LocalWork) -> None:
        count = len(work.clients)
        model = {name: work.anchor[name].expand(count, *work.anchor[name].shape) for name in work.anchor}
        losses, _ = work.mean_loss("train", model)
        work.rule[LOSS_BEFORE] = losses.tolist()

    def finish(self, work: LocalWork) -> Contribution:
        return Contribution(metrics={LOSS_BEFORE: work.rule[LOSS_BEFORE]})


class FairMean(Aggregation):
    """w - sum_i F_i^q L (w - w_i) / sum_i h_i, which is a mean of w and all w_i."""

    def __init__(self, q: float, lr: float) -> None:
        self.q, self.lipschitz = q, 1 / lr

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        records = [array_record(reply, ARRAYS) for reply in replies]
        names = [name for name in records[0] if name not in server.buffers]
        losses = np.maximum([metric(reply, LOSS_BEFORE) for reply in replies], LEAST_LOSS)
        squares = np.array([squared_movement(server, record, names) for record in records])
        return movements_weighted(server, replies, self.factors(losses, squares).tolist())

    def factors(self, losses: np.ndarray, squared_movements: np.ndarray) -> np.ndarray:
        """What each w_i counts. All is over L and the highest F^q, which cancel out: F^q may exceed every number."""
        with np.errstate(all="ignore"):
            powers = (losses / losses.max()) ** self.q
            curvatures = powers * (self.q * self.lipschitz * squared_movements / losses + 1)
            shares: np.ndarray = powers / curvatures.sum()
            return shares


def squared_movement(server: ComposedServer, record: ArrayRecord, names: Sequence[str]) -> float:
    """||w - w_i||^2."""
    squares = [float((server.sent[name] - tensor_of(record[name])).square().sum()) for name in names]
    return float(np.sum(squares))


def movements_weighted(server: ComposedServer, replies: Sequence[RecordDict], factors: list[float]) -> Tensors:
    """w + sum_i f_i (w_i - w), where factors need not add up to 1; buffers are averaged by samples."""
    records = [array_record(reply, ARRAYS) for reply in replies]
    names = [name for name in records[0] if name not in server.buffers]
    mean = weighted_mean(records, factors, names)
    result = server.mean(replies) if server.buffers else {}
    return {**result, **{name: server.sent[name] * (1 - sum(factors)) + mean[name] for name in names}}


EFFECTIVE_STEPS = "effective-steps"


class EffectiveSteps(LocalRule):
    """Sends a_i along with the model; a proximal term of weight mu shortens each step."""

    def __init__(self, mu: float, lr: float) -> None:
        self.shrinkage = lr * mu

    def finish(self, work: LocalWork) -> Contribution:
        steps = work.optimizer.effective_steps(work.steps)
        if self.shrinkage:
            steps = (1 - (1 - self.shrinkage) ** steps) / self.shrinkage
        return Contribution(metrics={EFFECTIVE_STEPS: steps.tolist()})


class StepMean(Aggregation):
    """w - tau_eff sum_i p_i (w - w_i) / a_i, with tau_eff = sum_i p_i a_i."""

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        shares = weights_of(replies)
        steps = [metric(reply, EFFECTIVE_STEPS) for reply in replies]
        effective = sum(share * step for share, step in zip(shares, steps, strict=True))
        factors = [effective * share / step if step else 0.0 for share, step in zip(shares, steps, strict=True)]
        return movements_weighted(server, replies, factors)
