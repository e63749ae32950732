from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.component import Optimizer
from workers.optimizers.adam import AdamParameters

if TYPE_CHECKING:
    from workers.engine.optimizer import StackedOptimizer


class AdamWParameters(AdamParameters):
    weight_decay: float = Field(0.01, ge=0)
    """Shrinks the parameters by lr * weight_decay each step, apart from the gradient."""


class AdamW(Optimizer):
    """Adam with decoupled weight decay as torch.optim.AdamW has it; its moments start at zero in every round."""

    name = "adamw"
    label = "AdamW"
    paper = "Loshchilov, Hutter: Decoupled Weight Decay Regularization, ICLR 2019"
    Params = AdamWParameters

    def build(self, params: Any) -> StackedOptimizer:
        from workers.engine.optimizer import StackedAdam

        return StackedAdam(params, decoupled=True)
