"""FedAvg, and the strategies that differ from it in what clients do alone: FedProx, FedSGD."""

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

    def sends_models(self, params: Any) -> bool:
        return bool(params.every == 1)

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.averaging import Averaging
        from workers.engine.server.method import Method
        from workers.strategies._fedavg import OwnModel, PeriodicAveraging

        if params.every == 1:
            return Method(Averaging(context))
        server = PeriodicAveraging(context, params.every)
        return Method(server, OwnModel(params.every), cycle=params.every, exchange=server.exchange)


class FedProxParameters(Parameters):
    mu: float = Field(0.01, ge=0)
    """Weight of the proximal term."""


class FedProx(Strategy):
    """FedAvg whose clients are held near the global model: local loss + (mu/2) ||w - w_t||^2.

    The server is FedAvg's. On the client the gradient gains mu (w - w_t); mu = 0 is FedAvg.
    """

    name = "fedprox"
    label = "FedProx"
    named_by = ("mu",)
    paper = "Li et al.: Federated Optimization in Heterogeneous Networks, MLSys 2020"
    Params = FedProxParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.averaging import Averaging
        from workers.engine.server.method import Method
        from workers.strategies._fedavg import ProximalTerm

        return Method(Averaging(context), ProximalTerm(params.mu))


class FedSgd(Strategy):
    """Federated SGD: FedAvg whose clients take a single step along the gradient over all their samples.

    w <- w - lr sum_i (n_i / n) g_i(w), g_i being client i's gradient over all it has: FedAvg with one epoch and one
    batch that holds everything. `local.epochs` has no effect, `local.batch_size` only says how many samples are
    computed at once (and, for models with batch statistics, over how many those are taken), and nobody straggles: a
    step is taken whole or not at all. The step is that of `local.optimizer`, new in every round.
    """

    name = "fedsgd"
    label = "FedSGD"
    paper = "McMahan et al.: Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017"

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.averaging import Averaging
        from workers.engine.server.method import Method
        from workers.strategies._fedavg import OneStep

        return Method(Averaging(context), OneStep())
