from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class FedProxParameters(Parameters):
    mu: float = Field(0.01, ge=0)
    """Weight of the proximal term."""


class FedProx(Strategy):
    """FedAvg whose clients are held near the global model: local loss + (mu/2) ||w - w_t||^2.

    The server is FedAvg's. On the client the gradient gains mu (w - w_t); mu = 0 is FedAvg.
    """

    name = "fedprox"
    label = "FedProx"
    paper = "Li et al.: Federated Optimization in Heterogeneous Networks, MLSys 2020"
    Params = FedProxParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.averaging import Averaging
        from workers.engine.server.method import Method
        from workers.strategies._local_rules import Proximal

        return Method(Averaging(context), Proximal(params.mu))
