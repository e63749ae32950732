"""How the models of a round become one: means with different weights, and aggregations that bear malicious clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from workers.catalog.component import fixed_rate_problems, summed_gradient_problems
from workers.catalog.part import Part, choice_of
from workers.errors import Problem
from workers.strategies.parts.client import ClientRule, FedProxClient

if TYPE_CHECKING:
    from workers.engine.training.rule import LocalRule
    from workers.spec import RunSpec
    from workers.strategies._composition import Aggregation

YIN = "Yin et al.: Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates, ICML 2018"
BLANCHARD = "Blanchard et al.: Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent, NeurIPS 2017"
PILLUTLA = "Pillutla et al.: Robust Aggregation for Federated Learning, IEEE Transactions on Signal Processing 2022"
MHAMDI = "El Mhamdi et al.: The Hidden Vulnerability of Distributed Learning in Byzantium, ICML 2018"
MOMENTUM_WITH_A_PULL = (
    "FedNova's steps with a proximal term are known without momentum only: set local.optimizer.momentum to 0, or "
    "client.mu to 0."
)


class AggregatePart(Part):
    """An aggregation, and what clients must tell the server for it."""

    needs_validation: ClassVar[bool] = False

    def aggregation(self, spec: RunSpec) -> Aggregation | None:
        """None is the mean weighted by samples."""
        return None

    def reporter(self, spec: RunSpec, client: ClientRule) -> LocalRule | None:
        return None

    def pair_problems(self, client: ClientRule, spec: RunSpec) -> Iterable[Problem]:
        """Why it does not go with that client rule."""
        return ()


def local_lr(spec: RunSpec) -> float:
    lr: float = spec.local.optimizer.model_dump()["lr"]
    return lr


class MeanPart(AggregatePart):
    """The mean weighted by samples, as in FedAvg: sum_i (n_i / n) w_i."""

    label = "Mean by samples"
    paper = "McMahan et al.: Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017"
    name: Literal["mean"] = "mean"


class UniformPart(AggregatePart):
    """The plain mean: every client counts as one."""

    label = "Uniform mean"
    name: Literal["uniform"] = "uniform"

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._weighting import UniformMean

        return UniformMean()


class LossPart(AggregatePart):
    """FedLoss: weighted by the loss of each client's model on its own validation part."""

    label = "Mean by loss"
    paper = "Tagarakis: FedLoss, 2023"
    needs_validation = True
    name: Literal["by-loss"] = "by-loss"
    with_samples: bool = False
    """Weigh a client by its loss times its number of training samples instead of by its loss alone."""

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._weighting import LossMean

        return LossMean(with_samples=self.with_samples)

    def reporter(self, spec: RunSpec, client: ClientRule) -> LocalRule:
        from workers.strategies._weighting import ValidationLoss

        return ValidationLoss()


class FairPart(AggregatePart):
    """q-FedAvg: clients on whose data the global model does badly move it more, the more the higher q is."""

    label = "Fair mean"
    paper = "Li et al.: Fair Resource Allocation in Federated Learning, ICLR 2020"
    name: Literal["fair"] = "fair"
    q: float = Field(0.2, ge=0, le=100)
    """How strongly clients with a high loss are favoured; 0 counts every client as one."""

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._weighting import FairMean

        return FairMean(self.q, local_lr(spec))

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from fixed_rate_problems(spec, self.label)

    def reporter(self, spec: RunSpec, client: ClientRule) -> LocalRule:
        from workers.strategies._weighting import LossBeforeTraining

        return LossBeforeTraining()


class StepsPart(AggregatePart):
    """FedNova: every movement is divided by the number of local steps behind it before the mean is taken."""

    label = "Mean by steps"
    paper = "Wang et al.: Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization, 2020"
    name: Literal["by-steps"] = "by-steps"

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._weighting import StepMean

        return StepMean()

    def reporter(self, spec: RunSpec, client: ClientRule) -> LocalRule:
        from workers.strategies._weighting import EffectiveSteps

        return EffectiveSteps(client.mu if isinstance(client, FedProxClient) else 0.0, local_lr(spec))

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from summed_gradient_problems(spec, self.label)

    def pair_problems(self, client: ClientRule, spec: RunSpec) -> Iterable[Problem]:
        momentum = spec.local.optimizer.model_dump().get("momentum", 0.0)
        if isinstance(client, FedProxClient) and client.mu:
            yield from fixed_rate_problems(spec, f"{self.label} with a proximal term")
        if isinstance(client, FedProxClient) and client.mu and momentum:
            yield Problem("strategy.client.mu", MOMENTUM_WITH_A_PULL)


class MedianPart(AggregatePart):
    """The median, coordinate by coordinate; clients are not weighted. It bears fewer than half malicious clients."""

    label = "Median"
    paper = YIN
    name: Literal["median"] = "median"

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._robust import Median

        return Median()


class TrimmedPart(AggregatePart):
    """The plain mean, coordinate by coordinate, without the smallest and the largest values."""

    label = "Trimmed mean"
    paper = YIN
    name: Literal["trimmed"] = "trimmed"
    trim: float = Field(0.2, ge=0, lt=0.5)
    """Share of the clients whose values are cut off at each end, rounded down to whole clients."""

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._robust import TrimmedMean

        return TrimmedMean(self.trim)


class KrumPart(AggregatePart):
    """The one model that lies closest to its neighbours, as it is."""

    label = "Krum"
    paper = BLANCHARD
    name: Literal["krum"] = "krum"
    malicious: int = Field(0, ge=0)
    """How many of a round's clients may send anything at all; a cohort needs 2 * malicious + 3 clients."""

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._robust import Krum

        return Krum(self.malicious, keep=1)

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from malicious_problems(self.malicious, 2 * self.malicious + 3, spec, f"{path}.malicious")


class MultiKrumPart(AggregatePart):
    """The plain mean of the models that lie closest to their neighbours."""

    label = "Multi-Krum"
    paper = BLANCHARD
    name: Literal["multikrum"] = "multikrum"
    malicious: int = Field(0, ge=0)
    """How many of a round's clients may send anything at all; a cohort needs 2 * malicious + 3 clients."""
    keep: int | None = Field(None, ge=1)
    """How many models are averaged; empty takes all of the round's clients but `malicious`."""

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._robust import Krum

        return Krum(self.malicious, self.keep)

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from malicious_problems(self.malicious, 2 * self.malicious + 3, spec, f"{path}.malicious")
        if self.keep is not None and self.keep > spec.cohort_size:
            yield Problem(f"{path}.keep", f"Keeps {self.keep} models, but a round has only {spec.cohort_size} clients.")


class GeometricMedianPart(AggregatePart):
    """RFA: the model with the least weighted sum of distances to all models, by the smoothed Weiszfeld algorithm."""

    label = "Geometric median"
    paper = PILLUTLA
    name: Literal["geometric-median"] = "geometric-median"
    iterations: int = Field(3, ge=1, le=1000)
    """Steps of the Weiszfeld algorithm."""
    smoothing: float = Field(1e-6, gt=0)
    """Distances below it count as it."""

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._robust import GeometricMedian

        return GeometricMedian(self.iterations, self.smoothing)


class BulyanPart(AggregatePart):
    """Krum chooses models one after the other; of each coordinate the values nearest to the median are averaged."""

    label = "Bulyan"
    paper = MHAMDI
    version = 2
    name: Literal["bulyan"] = "bulyan"
    malicious: int = Field(0, ge=0)
    """How many of a round's clients may send anything at all; a cohort needs 4 * malicious + 3 clients."""

    def aggregation(self, spec: RunSpec) -> Aggregation:
        from workers.strategies._robust import Bulyan

        return Bulyan(self.malicious)

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from malicious_problems(self.malicious, 4 * self.malicious + 3, spec, f"{path}.malicious")


def malicious_problems(malicious: int, least: int, spec: RunSpec, path: str) -> Iterable[Problem]:
    """A guarantee against f malicious clients holds from so many clients on."""
    if malicious and spec.cohort_size < least:
        yield Problem(
            path, f"To bear {malicious} malicious clients a round needs {least} or more; it has {spec.cohort_size}."
        )


AGGREGATIONS: tuple[type[AggregatePart], ...] = (
    MeanPart,
    UniformPart,
    LossPart,
    FairPart,
    StepsPart,
    MedianPart,
    TrimmedPart,
    KrumPart,
    MultiKrumPart,
    GeometricMedianPart,
    BulyanPart,
)
if TYPE_CHECKING:
    AggregateChoice = AggregatePart
else:
    AggregateChoice = choice_of(AGGREGATIONS)
