from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


class FedAvgMParameters(Parameters):
    server_lr: float = Field(1.0, gt=0)
    """Server step size."""
    server_momentum: float = Field(0.9, ge=0, lt=1)
    """Share of the previous server step that is kept."""
    nesterov: bool = False
    """Look ahead along the momentum."""


class FedAvgM(Strategy):
    """FedAvg with momentum on the server: v <- server_momentum v + (w - mean_i w_i);  w <- w - server_lr v.

    Momentum 0 with server_lr 1 is FedAvg. Buffers are averaged.
    """

    name = "fedavgm"
    label = "FedAvgM"
    paper = "Hsu et al.: Measuring the Effects of Non-Identical Data Distribution for Federated Visual Classification"
    Params = FedAvgMParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._server_steps import Momentum

        return Method(Momentum(context, params.server_lr, params.server_momentum, nesterov=params.nesterov))
