"""Strategies whose clients swap whole models between averages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class FedSwapParameters(Parameters):
    h1: int = Field(5, ge=1)
    """Rounds between two exchanges, be it a swap or an average."""
    h2: int = Field(3, ge=1)
    """Every so many exchanges one is an average, the others are swaps."""
    swap_share: float = Field(1.0, ge=0, le=1)
    """Share of the possible pairs that swap."""


class FedSwap(Strategy):
    """FedAvg in one of h1 h2 rounds only; between, each h1 rounds, random pairs of clients swap their whole models.

    Round r is step s = r - 1. s divisible by h1 h2: w <- sum_i (n_i / n) w_i, sent to all, and a new cohort is drawn.
    Otherwise s divisible by h1: int(floor(m / 2) swap_share) disjoint pairs of the m clients swap. In all other rounds
    clients train on alone. Evaluated is the mean of the clients' models at that moment, weighted by the samples of the
    client that holds a model. Swapped models go from client to client (`bytes_peer`); `fedswap.swaps` counts pairs.
    h1 = h2 = 1 is FedAvg; the baseline of equal traffic is FedAvg with `every` = h1.
    """

    name = "fedswap"
    label = "FedSwap"
    named_by = ("h1", "h2")
    paper = (
        "Chiu et al.: Semisupervised Distributed Learning With Non-IID Data for AIoT Service Platform, IEEE IoT J. 2020"
    )
    Params = FedSwapParameters

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._swapping import FedSwapServer, SwappableModel

        server = FedSwapServer(context, params.h1, params.h2, params.swap_share)
        rule = SwappableModel(params.h1, params.h2, through_server=False)
        return Method(server, rule, cycle=params.h1 * params.h2, exchange=server.exchange)


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
    named_by = ("h1", "h2")
    paper = "Bozorgzad: Smart Swapping Based on Model Similarity, 2024"
    Params = SimFedSwapParameters

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._swapping import SimFedSwapServer, SwappableModel

        server = SimFedSwapServer(
            context,
            params.h1,
            params.h2,
            params.swap_share,
            pairing=params.pairing,
            similarity=params.similarity,
        )
        rule = SwappableModel(params.h1, params.h2, through_server=True)
        return Method(server, rule, cycle=params.h1 * params.h2, exchange=server.exchange)
