from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


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
    paper = "Li et al.: Fair Resource Allocation in Federated Learning, ICLR 2020"
    Params = QFedAvgParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._weighting import Fair, LossBefore

        lr: float = context.spec.local.optimizer.model_dump()["lr"]
        return Method(Fair(context, params.q, lr), LossBefore())
