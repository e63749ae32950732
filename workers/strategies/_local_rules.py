"""Client rules of a few lines."""

from __future__ import annotations

from workers.engine.training.rule import LocalRule, LocalStep, LocalWork


class Proximal(LocalRule):
    """The gradient of (mu/2) ||w - w_t||^2 is mu (w - w_t)."""

    def __init__(self, mu: float) -> None:
        self.mu = mu
        self.changes_gradients = mu > 0

    def gradient(self, work: LocalWork, step: LocalStep) -> None:
        for name, grad in step.grads.items():
            grad.add_(step.params[name] - work.anchor[name], alpha=self.mu)


class OneStep(LocalRule):
    full_batch = True
