from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.catalog.component import Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


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
        from workers.strategies._local_rules import OneStep

        return Method(Averaging(context), OneStep())
