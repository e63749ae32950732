"""What the server makes of the aggregated model: it takes it as it is, or steps towards it with an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from workers.catalog.part import Part, choice_of

if TYPE_CHECKING:
    from workers.strategies._composition import ServerStep

JHUNJHUNWALA = "Jhunjhunwala et al.: FedExP: Speeding Up Federated Averaging via Extrapolation, ICLR 2023"
REDDI = "Reddi et al.: Adaptive Federated Optimization, ICLR 2021"


class ServerPart(Part):
    def step(self) -> ServerStep | None:
        """None takes the aggregated model as it is."""
        return None


class NoServerOptimizer(ServerPart):
    """The aggregated model is the new global model, as in FedAvg."""

    label = "None"
    name: Literal["none"] = "none"


class MomentumPart(ServerPart):
    """Momentum on the movement, as in FedAvgM: v <- momentum v + (w - aggregate);  w <- w - lr v."""

    label = "Momentum"
    paper = "Hsu et al.: Measuring the Effects of Non-Identical Data Distribution for Federated Visual Classification"
    name: Literal["momentum"] = "momentum"
    lr: float = Field(1.0, gt=0)
    """Server step size."""
    momentum: float = Field(0.9, ge=0, lt=1)
    """Share of the previous server step that is kept."""
    nesterov: bool = False
    """Look ahead along the momentum."""

    def step(self) -> ServerStep:
        from workers.strategies._server_optimizers import Momentum

        return Momentum(self.lr, self.momentum, nesterov=self.nesterov, prefix="velocity/")


class AdaptivePart(ServerPart):
    paper = REDDI
    lr: float = Field(0.1, gt=0)
    """Server step size."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the mean of movements."""
    tau: float = Field(1e-3, gt=0)
    """Added to the denominator: larger is less adaptive."""


class AdamPart(AdaptivePart):
    """Adam steps along the movement, as in FedAdam, without bias correction."""

    label = "Adam"
    name: Literal["adam"] = "adam"
    beta2: float = Field(0.99, ge=0, lt=1)
    """Decay of the mean of squared movements."""

    def step(self) -> ServerStep:
        from workers.strategies._server_optimizers import Adam

        return Adam(self.lr, self.beta1, self.beta2, self.tau)


class YogiPart(AdaptivePart):
    """Yogi steps along the movement, as in FedYogi."""

    label = "Yogi"
    name: Literal["yogi"] = "yogi"
    beta2: float = Field(0.99, ge=0, lt=1)
    """Decay of the mean of squared movements."""

    def step(self) -> ServerStep:
        from workers.strategies._server_optimizers import Yogi

        return Yogi(self.lr, self.beta1, self.beta2, self.tau)


class AdagradPart(AdaptivePart):
    """Adagrad steps along the movement, as in FedAdagrad."""

    label = "Adagrad"
    name: Literal["adagrad"] = "adagrad"
    beta1: float = Field(0.0, ge=0, lt=1)
    """Decay of the mean of movements."""

    def step(self) -> ServerStep:
        from workers.strategies._server_optimizers import Adagrad

        return Adagrad(self.lr, self.beta1, self.tau)


class ExtrapolationPart(ServerPart):
    """FedExP: the further clients move apart, the larger the server's step along their mean movement.

    w <- w + eta (aggregate - w), eta = max(1, mean_i |w_i - w|^2 / (2 (|aggregate - w|^2 + epsilon))).
    """

    label = "Extrapolation"
    paper = JHUNJHUNWALA
    name: Literal["extrapolation"] = "extrapolation"
    epsilon: float = Field(1e-3, ge=0)
    """Added to the squared mean movement: larger makes steps smaller."""

    def step(self) -> ServerStep:
        from workers.strategies._server_optimizers import Extrapolation

        return Extrapolation(self.epsilon)


SERVER_PARTS: tuple[type[ServerPart], ...] = (
    NoServerOptimizer,
    MomentumPart,
    AdamPart,
    YogiPart,
    AdagradPart,
    ExtrapolationPart,
)
if TYPE_CHECKING:
    ServerChoice = ServerPart
else:
    ServerChoice = choice_of(SERVER_PARTS)
