from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.component import Strategy
from workers.strategies._adaptive_options import AdaptiveParameters

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


class FedAdagradParameters(AdaptiveParameters):
    beta1: float = Field(0.0, ge=0, lt=1)
    """Decay of the mean of movements."""


class FedAdagrad(Strategy):
    """FedAvg whose server takes Adagrad steps along the clients' mean movement.

    With delta the weighted mean of w_i - w: m <- beta1 m + (1 - beta1) delta; v <- v + delta^2;
    w <- w + server_lr m / (sqrt(v) + tau), from m = 0 and v = tau^2. Flower's starts at v = 0, so it is not used.
    Buffers are averaged.
    """

    name = "fedadagrad"
    label = "FedAdagrad"
    paper = "Reddi et al.: Adaptive Federated Optimization, ICLR 2021"
    Params = FedAdagradParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._server_steps import Adagrad

        return Method(Adagrad(context, params.server_lr, params.beta1, params.tau))
