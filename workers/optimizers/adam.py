from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Optimizer, Parameters

if TYPE_CHECKING:
    from workers.engine.training.optimizer import StackedOptimizer


class AdamParameters(Parameters):
    lr: float = Field(0.001, gt=0)
    """Step size."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the mean of gradients."""
    beta2: float = Field(0.999, ge=0, lt=1)
    """Decay of the mean of squared gradients."""
    eps: float = Field(1e-8, gt=0)
    """Added to the denominator."""
    weight_decay: float = Field(0.0, ge=0)
    """L2 penalty added to the gradient."""


class Adam(Optimizer):
    """Adam as torch.optim.Adam has it; its moments start at zero in every round."""

    name = "adam"
    label = "Adam"
    named_by = ("lr",)
    paper = "Kingma, Ba: Adam: A Method for Stochastic Optimization, ICLR 2015"
    Params = AdamParameters

    def build(self, params: Any) -> StackedOptimizer:
        from workers.engine.training.optimizer import StackedAdam

        return StackedAdam(params, decoupled=False)


class AdamWParameters(AdamParameters):
    weight_decay: float = Field(0.01, ge=0)
    """Shrinks the parameters by lr * weight_decay each step, apart from the gradient."""


class AdamW(Optimizer):
    """Adam with decoupled weight decay as torch.optim.AdamW has it; its moments start at zero in every round."""

    name = "adamw"
    label = "AdamW"
    named_by = ("lr",)
    paper = "Loshchilov, Hutter: Decoupled Weight Decay Regularization, ICLR 2019"
    Params = AdamWParameters

    def build(self, params: Any) -> StackedOptimizer:
        from workers.engine.training.optimizer import StackedAdam

        return StackedAdam(params, decoupled=True)
