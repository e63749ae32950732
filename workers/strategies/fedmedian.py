from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.component import Strategy

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


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
        from workers.engine.method import Method
        from workers.strategies._coordinates import Median

        return Method(Median(context))
