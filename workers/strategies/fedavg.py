from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.component import Strategy

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


class FedAvg(Strategy):
    """Federated averaging: the new global model is the mean of the clients' models, weighted by their samples.

    w <- sum_i (n_i / n) w_i over the cohort, as Flower's own `FedAvg` has it.
    """

    name = "fedavg"
    label = "FedAvg"
    paper = "McMahan et al.: Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017"

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.engine.server import Averaging

        return Method(Averaging(context))
