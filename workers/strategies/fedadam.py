from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.component import Strategy
from workers.strategies._adaptive_options import DecayingParameters

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


class FedAdam(Strategy):
    """FedAvg whose server takes Adam steps along the clients' mean movement.

    With delta the weighted mean of w_i - w: m <- beta1 m + (1 - beta1) delta; v <- beta2 v + (1 - beta2) delta^2;
    w <- w + server_lr m / (sqrt(v) + tau), from m = 0 and v = tau^2. As in the paper there is no bias correction
    (Flower's has one for FedAdam and starts at v = 0, so it is not used). Buffers are averaged.
    """

    name = "fedadam"
    label = "FedAdam"
    paper = "Reddi et al.: Adaptive Federated Optimization, ICLR 2021"
    Params = DecayingParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._server_steps import Adam

        return Method(Adam(context, params.server_lr, params.beta1, params.beta2, params.tau))
