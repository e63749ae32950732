"""Strategies that bear malicious clients: models which lie far from the others are outvoted or left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy
from workers.errors import Problem
from workers.strategies.parts.aggregate import MHAMDI, PILLUTLA, malicious_problems

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.spec import RunSpec


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
        from workers.strategies._composition import ComposedServer
        from workers.strategies._robust import Median

        return Method(ComposedServer(context, Median()))


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
    named_by = ("trim",)
    paper = "Yin et al.: Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates, ICML 2018"
    Params = FedTrimmedAvgParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._robust import TrimmedMean

        return Method(ComposedServer(context, TrimmedMean(params.trim)))


class KrumParameters(Parameters):
    malicious: int = Field(0, ge=0)
    """How many of a round's clients may send anything at all; a cohort needs 2 * malicious + 3 clients."""


def too_many_malicious(spec: RunSpec) -> Iterable[Problem]:
    """Krum's guarantee holds for 2f + 2 < n only."""
    malicious: int = spec.strategy.model_dump()["malicious"]
    yield from malicious_problems(malicious, 2 * malicious + 3, spec, "strategy.malicious")


class Krum(Strategy):
    """Takes one client's model as it is, the one that lies closest to its neighbours, where FedAvg takes the mean.

    score(i) = the sum of ||w_i - w_j||^2 over the n - f - 2 models j nearest to i, with n clients of which f =
    `malicious` may send anything; w <- the w_i with the lowest score. Flower's `Krum` computes the same, but its
    distances take in batch statistics and counts of batches, and here they are over parameters alone.
    """

    name = "krum"
    label = "Krum"
    named_by = ("malicious",)
    paper = "Blanchard et al.: Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent, NeurIPS 2017"
    Params = KrumParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from too_many_malicious(spec)

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._robust import Krum

        return Method(ComposedServer(context, Krum(params.malicious, keep=1)))


class MultiKrumParameters(KrumParameters):
    keep: int | None = Field(None, ge=1)
    """How many models are averaged; empty takes all of the round's clients but `malicious`."""


class MultiKrum(Strategy):
    """The plain mean of the `keep` models that lie closest to their neighbours, where FedAvg takes that of all.

    Scores are Krum's; w <- (1 / m) sum of the m = `keep` models with the lowest. keep = 1 is Krum, keeping all is the
    plain mean. Flower's `MultiKrum` weighs the chosen models by samples, which lets a client that lies about their
    number rule; the paper's mean, taken here, is plain.
    """

    name = "multikrum"
    label = "Multi-Krum"
    named_by = ("malicious",)
    paper = "Blanchard et al.: Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent, NeurIPS 2017"
    Params = MultiKrumParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from too_many_malicious(spec)
        keep = getattr(spec.strategy, "keep", None)
        if keep is not None and keep > spec.cohort_size:
            yield Problem("strategy.keep", f"Keeps {keep} models, but a round has only {spec.cohort_size} clients.")

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._robust import Krum

        return Method(ComposedServer(context, Krum(params.malicious, params.keep)))


class GeometricMedianParameters(Parameters):
    iterations: int = Field(3, ge=1, le=1000)
    """Steps of the Weiszfeld algorithm."""
    smoothing: float = Field(1e-6, gt=0)
    """Distances below it count as it."""


class Rfa(Strategy):
    """FedAvg with the geometric median in place of the mean: whole models are outvoted, not coordinates.

    w <- argmin_v sum_i (n_i / n) ||v - w_i||, by the smoothed Weiszfeld algorithm: from v = the mean by samples, as
    often as `iterations` has it, v <- sum_i b_i w_i / sum_i b_i with b_i = (n_i / n) / max(smoothing, ||v - w_i||).
    Distances are over parameters alone. It bears malicious clients with less than half of the samples.
    """

    name = "rfa"
    label = "RFA (geometric median)"
    paper = PILLUTLA
    Params = GeometricMedianParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._robust import GeometricMedian

        return Method(ComposedServer(context, GeometricMedian(params.iterations, params.smoothing)))


class BulyanParameters(Parameters):
    malicious: int = Field(0, ge=0)
    """How many of a round's clients may send anything at all; a cohort needs 4 * malicious + 3 clients."""


class Bulyan(Strategy):
    """The plain mean of what Krum and the median agree on, where FedAvg takes that of all.

    Of n clients n - 2f are chosen, f = `malicious`: always the one with the lowest score of Krum among those left. Then
    w[k] <- the mean of the n - 4f chosen values w_i[k] that lie nearest to their median. malicious 0 is the plain mean.
    """

    name = "bulyan"
    label = "Bulyan"
    version = 2
    paper = MHAMDI
    Params = BulyanParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        malicious: int = spec.strategy.model_dump()["malicious"]
        yield from malicious_problems(malicious, 4 * malicious + 3, spec, "strategy.malicious")

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._robust import Bulyan as BulyanAggregation

        return Method(ComposedServer(context, BulyanAggregation(params.malicious)))
