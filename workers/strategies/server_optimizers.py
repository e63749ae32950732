"""Strategies whose server takes optimizer steps along the clients' mean movement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy
from workers.strategies.parts.server import JHUNJHUNWALA

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class AdaptiveParameters(Parameters):
    server_lr: float = Field(0.1, gt=0)
    """Server step size."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the mean of movements."""
    tau: float = Field(1e-3, gt=0)
    """Added to the denominator: larger is less adaptive."""


class DecayingParameters(AdaptiveParameters):
    beta2: float = Field(0.99, ge=0, lt=1)
    """Decay of the mean of squared movements."""


class FedAvgMParameters(Parameters):
    server_lr: float = Field(1.0, gt=0)
    """Server step size."""
    server_momentum: float = Field(0.9, ge=0, lt=1)
    """Share of the previous server step that is kept."""
    nesterov: bool = False
    """Look ahead along the momentum."""


class FedAvgM(Strategy):
    """FedAvg with momentum on the server: v <- server_momentum v + (w - mean_i w_i);  w <- w - server_lr v.

    Momentum 0 with server_lr 1 is FedAvg. Buffers are averaged.
    """

    name = "fedavgm"
    label = "FedAvgM"
    named_by = ("server_lr",)
    paper = "Hsu et al.: Measuring the Effects of Non-Identical Data Distribution for Federated Visual Classification"
    Params = FedAvgMParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._server_optimizers import Momentum

        step = Momentum(params.server_lr, params.server_momentum, nesterov=params.nesterov)
        return Method(ComposedServer(context, step=step))


class FedAdagradParameters(AdaptiveParameters):
    beta1: float = Field(0.0, ge=0, lt=1)
    """Decay of the mean of movements."""


class FedAdagrad(Strategy):
    """FedAvg whose server takes Adagrad steps along the clients' mean movement.

    With delta the weighted mean of w_i - w: m <- beta1 m + (1 - beta1) delta; v <- v + delta^2;
    w <- w + server_lr m / (sqrt(v) + tau), from m = 0 and v = tau^2. Flower's starts at v = 0, so it is not used.
    Buffers are averaged.
    """

    name = "fedadagrad"
    label = "FedAdagrad"
    named_by = ("server_lr",)
    paper = "Reddi et al.: Adaptive Federated Optimization, ICLR 2021"
    Params = FedAdagradParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._server_optimizers import Adagrad

        return Method(ComposedServer(context, step=Adagrad(params.server_lr, params.beta1, params.tau)))


class FedAdam(Strategy):
    """FedAvg whose server takes Adam steps along the clients' mean movement.

    With delta the weighted mean of w_i - w: m <- beta1 m + (1 - beta1) delta; v <- beta2 v + (1 - beta2) delta^2;
    w <- w + server_lr m / (sqrt(v) + tau), from m = 0 and v = tau^2. As in the paper there is no bias correction
    (Flower's has one for FedAdam and starts at v = 0, so it is not used). Buffers are averaged.
    """

    name = "fedadam"
    label = "FedAdam"
    named_by = ("server_lr",)
    paper = "Reddi et al.: Adaptive Federated Optimization, ICLR 2021"
    Params = DecayingParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._server_optimizers import Adam

        return Method(ComposedServer(context, step=Adam(params.server_lr, params.beta1, params.beta2, params.tau)))


class FedYogi(Strategy):
    """FedAvg whose server takes Yogi steps along the clients' mean movement.

    With delta the weighted mean of w_i - w: m <- beta1 m + (1 - beta1) delta;
    v <- v - (1 - beta2) delta^2 sign(v - delta^2); w <- w + server_lr m / (sqrt(v) + tau), from m = 0 and v = tau^2.
    As in the paper there is no bias correction; Flower's starts at v = 0, so it is not used. Buffers are averaged.
    """

    name = "fedyogi"
    label = "FedYogi"
    named_by = ("server_lr",)
    paper = "Reddi et al.: Adaptive Federated Optimization, ICLR 2021"
    Params = DecayingParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._server_optimizers import Yogi

        return Method(ComposedServer(context, step=Yogi(params.server_lr, params.beta1, params.beta2, params.tau)))


class FedExpParameters(Parameters):
    epsilon: float = Field(1e-3, ge=0)
    """Added to the squared mean movement: larger makes steps smaller."""


class FedExp(Strategy):
    """FedAvg whose server goes further along the mean movement, the further clients moved apart.

    With d_i = w_i - w and d their plain mean: w <- w + eta d, eta = max(1, mean_i |d_i|^2 / (2 (|d|^2 + epsilon))).
    Clients that move alike give the plain mean. `fedexp.step` is eta. The paper evaluates the mean of the last two
    models; here it is the last. Batch statistics are averaged.
    """

    name = "fedexp"
    label = "FedExP"
    paper = JHUNJHUNWALA
    Params = FedExpParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import ComposedServer
        from workers.strategies._server_optimizers import Extrapolation
        from workers.strategies._weighting import UniformMean

        return Method(ComposedServer(context, UniformMean(), Extrapolation(params.epsilon)))
