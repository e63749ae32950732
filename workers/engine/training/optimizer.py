"""Local optimizers whose updates act on parameters stacked over clients and equal torch.optim's, element for element.

Every client of a step has taken the same number of steps before, so one step number serves the whole stack.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from workers.engine.training.chain import Descent

State = dict[str, list[torch.Tensor]]


class StackedOptimizer(ABC):
    """Stateless: the state, one list of stacked tensors per slot, belongs to the round and starts at zero."""

    slots: tuple[str, ...] = ()
    lr: float
    descent: Descent | None = None
    """Where gradient and step can be one."""

    def new_state(self, params: Sequence[torch.Tensor]) -> State:
        return {slot: [torch.zeros_like(param) for param in params] for slot in self.slots}

    def effective_steps(self, steps: torch.Tensor) -> torch.Tensor:
        """a_i: how many gradients' worth of movement, over lr, that many steps are (FedNova's normaliser)."""
        raise TypeError(f"{type(self).__name__} steps are no fixed sum of gradients.")

    @abstractmethod
    def update(self, params: list[torch.Tensor], grads: list[torch.Tensor], state: State, step: int) -> None:
        """One step in place; `step` counts from 1. The gradients may be overwritten."""


class StackedSgd(StackedOptimizer):
    def __init__(self, params: Any) -> None:
        self.lr, self.momentum = params.lr, params.momentum
        self.nesterov, self.weight_decay = params.nesterov, params.weight_decay
        self.slots = ("momentum",) if self.momentum else ()
        if not self.nesterov:
            self.descent = Descent(self.lr, self.momentum, self.weight_decay)

    def update(self, params: list[torch.Tensor], grads: list[torch.Tensor], state: State, step: int) -> None:
        if self.weight_decay:
            torch._foreach_add_(grads, params, alpha=self.weight_decay)
        if self.momentum:
            buffers = state["momentum"]
            torch._foreach_mul_(buffers, self.momentum)
            torch._foreach_add_(buffers, grads)
            if self.nesterov:
                torch._foreach_add_(grads, buffers, alpha=self.momentum)
            else:
                grads = buffers
        torch._foreach_add_(params, grads, alpha=-self.lr)

    def effective_steps(self, steps: torch.Tensor) -> torch.Tensor:
        """With momentum rho the gradient of step s moves the model (1 - rho^(tau-s+1)) / (1 - rho) times."""
        rho, tau = self.momentum, steps.double()
        gradients: torch.Tensor = (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)
        return tau + rho * gradients if self.nesterov else gradients


class StackedAdam(StackedOptimizer):
    """Adam; `decoupled` weight decay makes it AdamW."""

    slots = ("mean", "square")

    def __init__(self, params: Any, *, decoupled: bool) -> None:
        self.lr, self.weight_decay, self.decoupled = params.lr, params.weight_decay, decoupled
        self.beta1, self.beta2, self.eps = params.beta1, params.beta2, params.eps

    def update(self, params: list[torch.Tensor], grads: list[torch.Tensor], state: State, step: int) -> None:
        if self.weight_decay and self.decoupled:
            torch._foreach_mul_(params, 1 - self.lr * self.weight_decay)
        elif self.weight_decay:
            torch._foreach_add_(grads, params, alpha=self.weight_decay)
        torch._foreach_lerp_(state["mean"], grads, 1 - self.beta1)
        torch._foreach_mul_(state["square"], self.beta2)
        torch._foreach_addcmul_(state["square"], grads, grads, value=1 - self.beta2)
        size = self.lr / (1 - self.beta1**step)
        scale = torch._foreach_sqrt(state["square"])
        torch._foreach_div_(scale, math.sqrt(1 - self.beta2**step))
        torch._foreach_add_(scale, self.eps)
        torch._foreach_addcdiv_(params, state["mean"], scale, value=-size)
