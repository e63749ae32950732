from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workers.catalog.component import Strategy, needs_summed_gradients
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.spec import RunSpec


class FedNova(Strategy):
    """FedAvg that normalises each client's movement by its number of local steps before averaging.

    d_i = (w_t - w_i) / a_i;  w <- w_t - tau_eff sum_i p_i d_i, with p_i = n_i / n over the cohort and
    tau_eff = sum_i p_i a_i. a_i = tau_i without momentum, with momentum rho
    a_i = (tau_i - rho (1 - rho^tau_i) / (1 - rho)) / (1 - rho). Equal numbers of steps give FedAvg.
    """

    name = "fednova"
    label = "FedNova"
    paper = "Wang et al.: Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization, 2020"

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from needs_summed_gradients(spec, self.label)

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._weighting import FedNova as Server
        from workers.strategies._weighting import StepCounting

        return Method(Server(context), StepCounting())
