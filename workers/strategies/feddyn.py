from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class FedDynParameters(Parameters):
    alpha: float = Field(0.1, gt=0)
    """Weight of the regulariser: larger holds clients nearer to the global model."""


class FedDyn(Strategy):
    """FedAvg with a dynamic regulariser: what clients would pull the model to alone is taken out of their loss.

    Local loss - <g_i, w> + (alpha/2) ||w - w_t||^2; then g_i <- g_i - alpha (w_i - w_t). The server has
    h <- h - alpha (1 / N) sum over the cohort of (w_i - w_t), and w <- mean_i w_i - h / alpha, where clients are not
    weighted by samples and N is the number of all clients. Batch statistics are averaged. Only the model is sent.
    """

    name = "feddyn"
    label = "FedDyn"
    paper = "Acar et al.: Federated Learning Based on Dynamic Regularization, ICLR 2021"
    Params = FedDynParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._feddyn import DynamicRegulariser, DynamicServer
        from workers.strategies._weighting import UniformMean

        server = ComposedServer(context, UniformMean(), companion=DynamicServer(params.alpha))
        return Method(server, DynamicRegulariser(params.alpha))
