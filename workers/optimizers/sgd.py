from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Optimizer, Parameters
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.engine.training.optimizer import StackedOptimizer
    from workers.spec import RunSpec


class SgdParameters(Parameters):
    lr: float = Field(0.01, gt=0)
    """Step size."""
    momentum: float = Field(0.0, ge=0, lt=1)
    """Share of the previous step that is kept."""
    nesterov: bool = False
    """Look ahead along the momentum; needs momentum."""
    weight_decay: float = Field(0.0, ge=0)
    """L2 penalty added to the gradient."""


class Sgd(Optimizer):
    """Stochastic gradient descent, with momentum as torch.optim.SGD has it."""

    name = "sgd"
    label = "SGD"
    named_by = ("lr",)
    Params = SgdParameters
    sums_gradients = True

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        params = spec.local.optimizer
        if isinstance(params, SgdParameters) and params.nesterov and not params.momentum:
            yield Problem("local.optimizer.nesterov", "Nesterov needs a momentum above 0.")

    def build(self, params: Any) -> StackedOptimizer:
        from workers.engine.training.optimizer import StackedSgd

        return StackedSgd(params)
