"""What a client does alone: plain training, a term in its gradient, another loss, or one full step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from workers.catalog.component import summed_gradient_problems
from workers.catalog.part import Part, choice_of
from workers.errors import Problem
from workers.strategies.fedlc import ZHANG, smoothing_problems
from workers.strategies.moon import LI

if TYPE_CHECKING:
    from workers.engine.training.rule import LocalRule
    from workers.spec import RunSpec
    from workers.strategies._composition import Companion


class ClientRule(Part):
    """A local rule, and what it needs of the server."""

    def rule(self) -> LocalRule | None:
        return None

    def companion(self) -> Companion | None:
        return None


class PlainClient(ClientRule):
    """Local training as `local` has it, and nothing else."""

    label = "Plain"
    name: Literal["plain"] = "plain"


class FedProxClient(ClientRule):
    """Held near the global model: the gradient gains mu (w - w_t)."""

    label = "FedProx"
    paper = "Li et al.: Federated Optimization in Heterogeneous Networks, MLSys 2020"
    name: Literal["fedprox"] = "fedprox"
    mu: float = Field(0.01, ge=0)
    """Weight of the proximal term."""

    def rule(self) -> LocalRule:
        from workers.strategies._fedavg import ProximalTerm

        return ProximalTerm(self.mu)


class ScaffoldClient(ClientRule):
    """Corrects its drift: every gradient gains c - c_i, the difference of the server's variate and its own.

    Variates are averaged over all clients by samples or uniformly, whatever becomes of the models.
    """

    label = "SCAFFOLD"
    paper = "Karimireddy et al.: SCAFFOLD: Stochastic Controlled Averaging for Federated Learning, ICML 2020"
    name: Literal["scaffold"] = "scaffold"
    option: Literal[1, 2] = 2
    """How a client renews its control variate: 1 its full gradient at the global model, 2 its mean local gradient."""
    weighting: Literal["samples", "uniform"] = "samples"
    """What a client's variate counts: its number of samples, or one."""

    def rule(self) -> LocalRule:
        from workers.strategies._scaffold import GradientCorrection

        return GradientCorrection(self.option)

    def companion(self) -> Companion:
        from workers.strategies._scaffold import ControlVariates

        return ControlVariates(uniform=self.weighting == "uniform", prefix="control/")

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from summed_gradient_problems(spec, self.label)


class FedDynClient(ClientRule):
    """FedDyn: the gradient gains alpha (w - w_t) - g_i; the server takes h / alpha from the aggregated model."""

    label = "FedDyn"
    paper = "Acar et al.: Federated Learning Based on Dynamic Regularization, ICLR 2021"
    name: Literal["feddyn"] = "feddyn"
    alpha: float = Field(0.1, gt=0)
    """Weight of the regulariser: larger holds clients nearer to the global model."""

    def rule(self) -> LocalRule:
        from workers.strategies._feddyn import DynamicRegulariser

        return DynamicRegulariser(self.alpha)

    def companion(self) -> Companion:
        from workers.strategies._feddyn import DynamicServer

        return DynamicServer(self.alpha)

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        strategy = spec.strategy.model_dump()
        if strategy["server"]["name"] != "none":
            yield Problem("strategy.server", "FedDyn's server takes a step of its own: choose none.")
        if strategy["aggregate"]["name"] == "by-steps":
            yield Problem("strategy.aggregate", "FedNova's steps with FedDyn's terms are not known: choose another.")


class FedLcClient(ClientRule):
    """FedLC: the logit of class c loses tau n_c^(-1/4) in training, n_c being how often the client has it."""

    label = "FedLC"
    paper = ZHANG
    name: Literal["fedlc"] = "fedlc"
    tau: float = Field(1.0, gt=0)
    """How much a class loses for being rare at a client."""

    def rule(self) -> LocalRule:
        from workers.strategies._fedlc import CalibratedLogits

        return CalibratedLogits(self.tau)

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from smoothing_problems(spec)


class MoonClient(ClientRule):
    """MOON: representations are drawn towards the global model's and away from those of the client's last model."""

    label = "MOON"
    paper = LI
    name: Literal["moon"] = "moon"
    mu: float = Field(1.0, ge=0)
    """Weight of the contrastive loss."""
    temperature: float = Field(0.5, gt=0)
    """What similarities are divided by: lower tells them apart more sharply."""

    def rule(self) -> LocalRule:
        from workers.strategies._moon import ModelContrast

        return ModelContrast(self.mu, self.temperature)


class FedSgdClient(ClientRule):
    """A single step along the gradient over all its samples; `local.epochs` has no effect."""

    label = "FedSGD"
    paper = "McMahan et al.: Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017"
    name: Literal["fedsgd"] = "fedsgd"

    def rule(self) -> LocalRule:
        from workers.strategies._fedavg import OneStep

        return OneStep()


CLIENT_RULES: tuple[type[ClientRule], ...] = (
    PlainClient,
    FedProxClient,
    ScaffoldClient,
    FedDynClient,
    FedLcClient,
    MoonClient,
    FedSgdClient,
)
if TYPE_CHECKING:
    ClientChoice = ClientRule
else:
    ClientChoice = choice_of(CLIENT_RULES)
