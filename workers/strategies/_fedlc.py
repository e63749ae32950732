from __future__ import annotations

import math

import torch

from workers.engine.training.rule import LocalRule, LocalWork, Predictions

MARGINS = "fedlc_margins"


class CalibratedLogits(LocalRule):
    """Cross-entropy of the logits less tau n_c^(-1/4): without end for a class of which there is no sample."""

    def __init__(self, tau: float) -> None:
        self.tau = tau

    def start(self, work: LocalWork) -> None:
        work.rule[MARGINS] = self.margins(work.class_counts()).to(next(iter(work.params.values())))

    def margins(self, counts: torch.Tensor) -> torch.Tensor:
        """Of each client's classes, from its numbers of samples."""
        return torch.where(counts > 0, self.tau * counts.clamp(min=1).double() ** -0.25, math.inf)

    def losses(self, work: LocalWork, predictions: Predictions) -> torch.Tensor:
        margins = work.rule[MARGINS][predictions.rows]
        return predictions.cross_entropy(predictions.logits - margins.unsqueeze(1))
