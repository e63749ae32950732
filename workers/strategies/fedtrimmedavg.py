from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


class FedTrimmedAvgParameters(Parameters):
    trim: float = Field(0.2, ge=0, lt=0.5)
    """Share of the clients whose values are cut off at each end, rounded down to whole clients."""


class FedTrimmedAvg(Strategy):
    """FedAvg with a trimmed mean, coordinate by coordinate; clients are not weighted by samples.

    w[k] <- the plain mean of w_i[k] without the floor(trim m) smallest and the floor(trim m) largest of m clients.
    trim = 0 is the plain mean. Flower's `FedTrimmedAvg` computes the same.
    """

    name = "fedtrimmedavg"
    label = "FedTrimmedAvg"
    paper = "Yin et al.: Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates, ICML 2018"
    Params = FedTrimmedAvgParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._coordinates import Trimmed

        return Method(Trimmed(context, params.trim))
