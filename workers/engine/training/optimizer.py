"""Local optimizers whose updates act on parameters stacked over clients and equal torch.optim's, element for element.

Every client of a step has taken the same number of steps before, so one step number serves the whole stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import torch

from workers.engine.training.chain import Update, apply_update

State = dict[str, list[torch.Tensor]]


class StackedOptimizer:
    """Stateless: the state, one list of stacked tensors per slot, belongs to the round and starts at zero.

    One that is an `in_numbers` needs no more; any other overrides `update`.
    """

    slots: tuple[str, ...] = ()
    lr: float
    in_numbers: Update | None = None
    """SGD or Adam: such steps are computed in one go with their gradients, wherever nothing looks in between."""

    def at_rate(self, factor: float) -> StackedOptimizer:
        """The same with so many times its learning rate."""
        other = copy(self)
        other.lr = self.lr * factor
        if self.in_numbers is not None:
            other.in_numbers = self.in_numbers._replace(lr=other.lr)
        return other

    def new_state(self, params: Sequence[torch.Tensor]) -> State:
        return {slot: [torch.zeros_like(param) for param in params] for slot in self.slots}

    def effective_steps(self, steps: torch.Tensor) -> torch.Tensor:
        """a_i: how many gradients' worth of movement, over lr, that many steps are (FedNova's normaliser)."""
        raise TypeError(f"{type(self).__name__} steps are no fixed sum of gradients.")

    def update(self, params: list[torch.Tensor], grads: list[torch.Tensor], state: State, step: int) -> None:
        """One step in place; `step` counts from 1. The gradients may be overwritten."""
        if self.in_numbers is None:
            raise NotImplementedError(f"{type(self).__name__} does not say what a step is.")
        count = torch.full([], float(step), device=params[0].device)
        # The fused step of Adam walks through memory and never looks at strides.
        apply_update(params, [each.contiguous() for each in grads], *self.moments(state), self.in_numbers, count, False)

    def moments(self, state: State) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """The first and the second, as far as it has them."""
        lists = [state[slot] for slot in self.slots]
        return lists[0] if lists else [], lists[1] if len(lists) > 1 else []


class StackedSgd(StackedOptimizer):
    def __init__(self, params: Any) -> None:
        self.lr, self.momentum, self.nesterov = params.lr, params.momentum, params.nesterov
        self.slots = ("momentum",) if self.momentum else ()
        self.in_numbers = Update(
            lr=self.lr, weight_decay=params.weight_decay, momentum=self.momentum, nesterov=self.nesterov
        )

    def effective_steps(self, steps: torch.Tensor) -> torch.Tensor:
        """With momentum rho the gradient of step s moves the model (1 - rho^(tau-s+1)) / (1 - rho) times."""
        rho, tau = self.momentum, steps.double()
        gradients: torch.Tensor = (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)
        return tau + rho * gradients if self.nesterov else gradients


class StackedAdam(StackedOptimizer):
    """Adam; `decoupled` weight decay makes it AdamW."""

    slots = ("mean", "square")

    def __init__(self, params: Any, *, decoupled: bool) -> None:
        self.lr = params.lr
        self.in_numbers = Update(
            lr=params.lr,
            weight_decay=params.weight_decay,
            adam=True,
            decoupled=decoupled,
            beta1=params.beta1,
            beta2=params.beta2,
            eps=params.eps,
        )
