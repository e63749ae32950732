from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class FedLossParameters(Parameters):
    with_samples: bool = False
    """Weigh a client by its loss times its number of training samples instead of by its loss alone."""


class FedLoss(Strategy):
    """FedAvg that weighs clients by how badly their own models do: the harder a client's data, the more it counts.

    w <- sum_i (l_i / sum_j l_j) w_i, with l_i the loss of client i's trained model on its own validation part; with
    `with_samples` l_i n_i takes the place of l_i. A client too small for a validation part counts as the others do on
    average. A round with a loss that is not finite, or with none above zero, is averaged by samples as in FedAvg:
    `fedloss.fallback` is 1 there. Where `evaluation.validation` is 0, a tenth of each client's data validates.
    """

    name = "fedloss"
    label = "FedLoss"
    paper = "Tagarakis: FedLoss, 2023"
    Params = FedLossParameters
    needs_validation = True

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._weighting import LossWeighted, Validating

        return Method(LossWeighted(context, with_samples=params.with_samples), Validating())
