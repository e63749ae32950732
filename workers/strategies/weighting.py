"""Strategies that weigh clients by more than their samples: FedLoss, q-FedAvg, FedNova."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy, fixed_rate_problems, summed_gradient_problems
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.spec import RunSpec


class FedLossParameters(Parameters):
    with_samples: bool = False
    """Weigh a client by its loss times its number of training samples instead of by its loss alone."""


class FedLoss(Strategy):
    """FedAvg that weighs clients by how badly their own models do: the harder a client's data, the more it counts.

    w <- sum_i (l_i / sum_j l_j) w_i, with l_i the loss of client i's trained model on its own validation part; with
    `with_samples` l_i n_i takes the place of l_i. A client too small for a validation part counts as the others do on
    average. A round with a loss that is not finite, or with none above zero, is averaged by samples as in FedAvg:
    `fedloss.fallback` is 1 there. Where `evaluation.validation` is left out, it is 0.1.
    """

    name = "fedloss"
    label = "FedLoss"
    paper = "Tagarakis: FedLoss, 2023"
    Params = FedLossParameters
    needs_validation = True

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._weighting import LossMean, ValidationLoss

        return Method(ComposedServer(context, LossMean(with_samples=params.with_samples)), ValidationLoss())


class QFedAvgParameters(Parameters):
    q: float = Field(0.2, ge=0, le=100)
    """How strongly clients with a high loss are favoured; 0 counts every client as one."""


class QFedAvg(Strategy):
    """FedAvg for fairness: clients on whose data the global model does badly move it more, the more the higher q is.

    With L = 1 / lr, F_i the loss of the global model over client i's training samples and d_i = L (w - w_i):
    w <- w - sum_i F_i^q d_i / sum_i (q F_i^(q-1) ||d_i||^2 + L F_i^q). Clients are not weighted by samples: q = 0 is
    the plain mean. Flower's server computes the same; its clients are left to choose which loss they report, and the
    mean loss while training, the usual choice, is not F_i: here clients compute F_i in a pass of its own. Losses are
    taken as 1e-10 at least. Batch statistics are averaged by samples.
    """

    name = "qfedavg"
    label = "q-FedAvg"
    named_by = ("q",)
    paper = "Li et al.: Fair Resource Allocation in Federated Learning, ICLR 2020"
    Params = QFedAvgParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from fixed_rate_problems(spec, self.label)

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._weighting import FairMean, LossBeforeTraining

        lr: float = context.spec.local.optimizer.model_dump()["lr"]
        return Method(ComposedServer(context, FairMean(params.q, lr)), LossBeforeTraining())


class FedNovaParameters(Parameters):
    mu: float = Field(0.0, ge=0)
    """Weight of FedProx's proximal term on the clients; 0 is FedNova as published."""


class FedNova(Strategy):
    """FedAvg that normalises each client's movement by its number of local steps before averaging.

    d_i = (w_t - w_i) / a_i;  w <- w_t - tau_eff sum_i p_i d_i, with p_i = n_i / n over the cohort and
    tau_eff = sum_i p_i a_i. a_i = tau_i without momentum, with momentum rho
    a_i = (tau_i - rho (1 - rho^tau_i) / (1 - rho)) / (1 - rho). Equal numbers of steps give FedAvg.
    With `mu` a client's loss gains (mu/2) ||w - w_t||^2 as in FedProx, and a_i = (1 - (1 - lr mu)^tau_i) / (lr mu).
    """

    name = "fednova"
    label = "FedNova"
    paper = "Wang et al.: Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization, 2020"
    Params = FedNovaParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from summed_gradient_problems(spec, self.label)
        if isinstance(spec.strategy, FedNovaParameters) and spec.strategy.mu:
            yield from fixed_rate_problems(spec, f"{self.label} with a proximal term")
        momentum = spec.local.optimizer.model_dump().get("momentum", 0.0)
        if isinstance(spec.strategy, FedNovaParameters) and spec.strategy.mu and momentum:
            yield Problem(
                "strategy.mu",
                "FedNova's steps with a proximal term are known without momentum only: set local.optimizer.momentum to "
                "0, or mu to 0.",
            )

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer, join_rules
        from workers.strategies._fedavg import ProximalTerm
        from workers.strategies._weighting import EffectiveSteps, StepMean

        lr: float = context.spec.local.optimizer.model_dump()["lr"]
        rule = join_rules(ProximalTerm(params.mu), EffectiveSteps(params.mu, lr))
        return Method(ComposedServer(context, StepMean()), rule)
