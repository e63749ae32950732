from __future__ import annotations

import torch
from torch.nn import functional as F  # noqa: N812

from workers.engine.messages.arrays import Tensors
from workers.engine.training.rule import Contribution, LocalRule, LocalWork, Predictions

PREVIOUS = "previous/"


class ModelContrast(LocalRule):
    """Cross-entropy + mu log(1 + e^(b - a)), where a and b are the similarities to the global and the last model."""

    def __init__(self, mu: float, temperature: float) -> None:
        self.mu, self.temperature = mu, temperature

    def start(self, work: LocalWork) -> None:
        names = [*work.params, *work.buffers]
        work.rule[PREVIOUS] = {
            name: work.store.read(work.clients, PREVIOUS + name, work.anchor[name]) for name in names
        }

    def losses(self, work: LocalWork, predictions: Predictions) -> torch.Tensor:
        previous: Tensors = {name: stack[predictions.rows] for name, stack in work.rule[PREVIOUS].items()}
        common = {name: work.anchor[name].expand_as(stack) for name, stack in previous.items()}
        towards, away = (
            F.cosine_similarity(predictions.representations, predictions.representations_of(model), dim=2)
            for model in (common, previous)
        )
        contrast = F.softplus((away - towards) / self.temperature)
        return predictions.cross_entropy(predictions.logits) + self.mu * contrast

    def finish(self, work: LocalWork) -> Contribution:
        for name, values in {**work.params, **work.buffers}.items():
            work.store.write(work.clients, PREVIOUS + name, values)
        return Contribution()
