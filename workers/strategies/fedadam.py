from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


class FedAdamParameters(Parameters):
    server_lr: float = Field(0.1, gt=0)
    """Server step size."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the mean of movements."""
    beta2: float = Field(0.99, ge=0, lt=1)
    """Decay of the mean of squared movements."""
    tau: float = Field(1e-3, gt=0)
    """Added to the denominator: larger is less adaptive."""


class FedAdam(Strategy):
    """FedAvg whose server takes Adam steps along the clients' mean movement.

    With delta the weighted mean of w_i - w: m <- beta1 m + (1 - beta1) delta; v <- beta2 v + (1 - beta2) delta^2;
    w <- w + server_lr m / (sqrt(v) + tau), from m = 0 and v = tau^2. As in the paper there is no bias correction
    (Flower's has one for FedAdam and starts at v = 0, so it is not used). Buffers are averaged.
    """

    name = "fedadam"
    label = "FedAdam"
    paper = "Reddi et al.: Adaptive Federated Optimization, ICLR 2021"
    Params = FedAdamParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._server_steps import Adam

        return Method(Adam(context, params.server_lr, params.beta1, params.beta2, params.tau))
