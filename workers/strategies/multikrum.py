from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.component import Strategy
from workers.errors import Problem
from workers.strategies.krum import KrumParameters, too_many_malicious

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext
    from workers.spec import RunSpec


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
    paper = "Blanchard et al.: Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent, NeurIPS 2017"
    Params = MultiKrumParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from too_many_malicious(spec)
        keep = getattr(spec.strategy, "keep", None)
        if keep is not None and keep > spec.cohort_size:
            yield Problem("strategy.keep", f"Keeps {keep} models, but a round has only {spec.cohort_size} clients.")

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._krum import Krum as Server

        return Method(Server(context, params.malicious, params.keep))
