from __future__ import annotations

from collections.abc import Sequence

from flwr.app import RecordDict

from workers.engine.arrays import Tensors, weighted_mean
from workers.engine.names import ARRAYS
from workers.engine.rule import Contribution, LocalRule, LocalWork
from workers.engine.server import Averaging, array_record, metric, weights_of

EFFECTIVE_STEPS = "effective-steps"


class StepCounting(LocalRule):
    """Sends a_i along with the model."""

    def finish(self, work: LocalWork) -> Contribution:
        return Contribution(metrics={EFFECTIVE_STEPS: work.optimizer.effective_steps(work.steps).tolist()})


class FedNova(Averaging):
    """w <- w - tau_eff sum_i p_i (w - w_i) / a_i, with tau_eff = sum_i p_i a_i."""

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        shares = weights_of(replies)
        steps = [metric(reply, EFFECTIVE_STEPS) for reply in replies]
        effective = sum(share * step for share, step in zip(shares, steps, strict=True))
        factors = [effective * share / step if step else 0.0 for share, step in zip(shares, steps, strict=True)]
        records = [array_record(reply, ARRAYS) for reply in replies]
        names = [name for name in records[0] if name not in self.buffers]
        moved = weighted_mean(records, factors, names)
        result = self.mean(replies) if self.buffers else {}
        return {**result, **{name: self.sent[name] * (1 - sum(factors)) + moved[name] for name in names}}
