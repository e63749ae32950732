from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from workers.component import Strategy
from workers.strategies.fedswap import FedSwapParameters

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


class SimFedSwapParameters(FedSwapParameters):
    pairing: Literal["greedy", "minimum"] = "minimum"
    """Greedy: a random client takes the least similar one left. Minimum: the least similar pair of all comes first."""
    similarity: Literal["osad", "cca", "cka-linear", "cka-rbf", "dcka"] = "cka-linear"
    """How alike the weights of two models are."""


class SimFedSwap(Strategy):
    """FedSwap whose pairs are not random: clients swap with those whose models are least like their own.

    The similarity of two models is the plain mean over layers, each as a matrix X of outputs x the rest (biases and
    other vectors are left out), of: osad, -sum |X - Y|; cka-linear, HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)) with K =
    X X^T; cka-rbf, the same with K = exp(-d^2 / 2 sigma^2), sigma half the median distance of two rows; dcka, linear
    CKA without what the last global model explains of K, which keeps the measure symmetric; cca, the mean squared
    canonical correlation of the leading directions with 99 % of the variance, since with all of them any two layers of
    more columns than rows would be alike. Models are swapped through the server, which must see them: every client
    sends its own and gets another's back (`bytes_up`, `bytes_down`). Schedule, weights and metric are FedSwap's.
    """

    name = "simfedswap"
    label = "SimFedSwap"
    paper = "Bozorgzad: Smart Swapping Based on Model Similarity, 2024"
    Params = SimFedSwapParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._swapping import KeepOrSend, SimilaritySwapping

        server = SimilaritySwapping(
            context,
            params.h1,
            params.h2,
            params.swap_share,
            pairing=params.pairing,
            similarity=params.similarity,
        )
        rule = KeepOrSend(params.h1, params.h2, through_server=True)
        return Method(server, rule, cycle=params.h1 * params.h2, exchange=server.exchange)
