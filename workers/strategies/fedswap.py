from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


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
    paper = (
        "Chiu et al.: Semisupervised Distributed Learning With Non-IID Data for AIoT Service Platform, IEEE IoT J. 2020"
    )
    Params = FedSwapParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._swapping import KeepOrSend, RandomSwapping

        server = RandomSwapping(context, params.h1, params.h2, params.swap_share)
        rule = KeepOrSend(params.h1, params.h2, through_server=False)
        return Method(server, rule, cycle=params.h1 * params.h2, exchange=server.exchange)
