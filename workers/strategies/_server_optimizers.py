"""Server optimizers: the mean movement of the cohort is a pseudo-gradient. Buffers are averaged, never optimised."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.server.averaging import Averaging
from workers.engine.server.method import MethodContext

MEAN, SQUARE = "mean/", "square/"


class ServerOptimizer(Averaging):
    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        mean = self.mean(replies)
        return {name: value if name in self.buffers else self.new_value(name, value) for name, value in mean.items()}

    @abstractmethod
    def new_value(self, name: str, mean: torch.Tensor) -> torch.Tensor:
        """The new global value of one parameter, given the mean of the clients' values."""


class FedAvgMServer(ServerOptimizer):
    """v <- momentum v + (w - mean);  w <- w - server_lr v, or with Nesterov w - server_lr (momentum v + (w - mean))."""

    def __init__(self, context: MethodContext, server_lr: float, momentum: float, *, nesterov: bool) -> None:
        super().__init__(context)
        self.server_lr, self.momentum, self.nesterov = server_lr, momentum, nesterov

    def new_value(self, name: str, mean: torch.Tensor) -> torch.Tensor:
        old = self.sent[name]
        gradient = old - mean
        last = self.state.get(name)
        velocity = gradient if last is None else self.momentum * last + gradient
        self.state[name] = velocity
        return old - self.server_lr * (self.momentum * velocity + gradient if self.nesterov else velocity)


class AdaptiveServer(ServerOptimizer):
    """m <- beta1 m + (1 - beta1) delta;  w <- w + server_lr m / (sqrt(v) + tau), v starting at tau^2."""

    def __init__(self, context: MethodContext, server_lr: float, beta1: float, tau: float) -> None:
        super().__init__(context)
        self.server_lr, self.beta1, self.tau = server_lr, beta1, tau

    def new_value(self, name: str, mean: torch.Tensor) -> torch.Tensor:
        old = self.sent[name]
        delta = mean - old
        first = self.state.get(MEAN + name, torch.zeros_like(old))
        second = self.state.get(SQUARE + name, torch.full_like(old, self.tau**2))
        first = self.beta1 * first + (1 - self.beta1) * delta
        second = self.second_moment(second, delta.square())
        self.state[MEAN + name], self.state[SQUARE + name] = first, second
        return old + self.server_lr * first / (second.sqrt() + self.tau)

    @abstractmethod
    def second_moment(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor: ...


class FedAdagradServer(AdaptiveServer):
    def second_moment(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
        return second + square


class FedAdamServer(AdaptiveServer):
    def __init__(self, context: MethodContext, server_lr: float, beta1: float, beta2: float, tau: float) -> None:
        super().__init__(context, server_lr, beta1, tau)
        self.beta2 = beta2

    def second_moment(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
        return self.beta2 * second + (1 - self.beta2) * square


class FedYogiServer(FedAdamServer):
    def second_moment(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
        return second - (1 - self.beta2) * square * torch.sign(second - square)
