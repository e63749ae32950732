from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class FedAvgParameters(Parameters):
    every: int = Field(1, ge=1)
    """Average only in one of so many rounds, the first included; between them the cohort stays and trains on alone."""


class FedAvg(Strategy):
    """Federated averaging: the new global model is the mean of the clients' models, weighted by their samples.

    w <- sum_i (n_i / n) w_i over the cohort, as Flower's own `FedAvg` has it. With `every` h, rounds 1, h + 1, 2h + 1
    average; the others send nothing, and the mean of the clients' models at that moment is what is evaluated.
    """

    name = "fedavg"
    label = "FedAvg"
    paper = "McMahan et al.: Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017"
    Params = FedAvgParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.averaging import Averaging
        from workers.engine.server.method import Method
        from workers.strategies._local_models import KeepBetween, Periodic

        if params.every == 1:
            return Method(Averaging(context))
        server = Periodic(context, params.every)
        return Method(server, KeepBetween(params.every), cycle=params.every, exchange=server.exchange)
