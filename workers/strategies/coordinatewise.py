"""Strategies that look at each coordinate of the clients' models by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class FedMedian(Strategy):
    """FedAvg with the median in place of the mean, coordinate by coordinate; clients are not weighted by samples.

    w[k] <- median_i w_i[k]; of an even number of clients the mean of the middle two. It bears fewer than half of the
    clients sending anything at all. Flower's `FedMedian` computes the same, except that one NaN makes its result NaN:
    here NaN counts as the largest value there is.
    """

    name = "fedmedian"
    label = "FedMedian"
    paper = "Yin et al.: Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates, ICML 2018"

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._robust import Median

        return Method(Median(context))


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
        from workers.engine.server.method import Method
        from workers.strategies._robust import Trimmed

        return Method(Trimmed(context, params.trim))
