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


class ServerStep(Averaging):
    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        mean = self.mean(replies)
        return {name: value if name in self.buffers else self.moved(name, value) for name, value in mean.items()}

    @abstractmethod
    def moved(self, name: str, mean: torch.Tensor) -> torch.Tensor:
        """The new global value of one parameter, given the mean of the clients' values."""


class Momentum(ServerStep):
    """v <- momentum v + (w - mean);  w <- w - server_lr v, or with Nesterov w - server_lr (momentum v + (w - mean))."""

    def __init__(self, context: MethodContext, server_lr: float, momentum: float, *, nesterov: bool) -> None:
        super().__init__(context)
        self.server_lr, self.momentum, self.nesterov = server_lr, momentum, nesterov

    def moved(self, name: str, mean: torch.Tensor) -> torch.Tensor:
        old = self.sent[name]
        gradient = old - mean
        kept = self.state.get(name)
        velocity = gradient if kept is None else self.momentum * kept + gradient
        self.state[name] = velocity
        return old - self.server_lr * (self.momentum * velocity + gradient if self.nesterov else velocity)


class Adaptive(ServerStep):
    """m <- beta1 m + (1 - beta1) delta;  w <- w + server_lr m / (sqrt(v) + tau), v starting at tau^2."""

    def __init__(self, context: MethodContext, server_lr: float, beta1: float, tau: float) -> None:
        super().__init__(context)
        self.server_lr, self.beta1, self.tau = server_lr, beta1, tau

    def moved(self, name: str, mean: torch.Tensor) -> torch.Tensor:
        old = self.sent[name]
        delta = mean - old
        first = self.state.get(MEAN + name, torch.zeros_like(old))
        second = self.state.get(SQUARE + name, torch.full_like(old, self.tau**2))
        first = self.beta1 * first + (1 - self.beta1) * delta
        second = self.accumulated(second, delta.square())
        self.state[MEAN + name], self.state[SQUARE + name] = first, second
        return old + self.server_lr * first / (second.sqrt() + self.tau)

    @abstractmethod
    def accumulated(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor: ...


class Adagrad(Adaptive):
    def accumulated(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
        return second + square


class Adam(Adaptive):
    def __init__(self, context: MethodContext, server_lr: float, beta1: float, beta2: float, tau: float) -> None:
        super().__init__(context, server_lr, beta1, tau)
        self.beta2 = beta2

    def accumulated(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
        return self.beta2 * second + (1 - self.beta2) * square


class Yogi(Adam):
    def accumulated(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
        return second - (1 - self.beta2) * square * torch.sign(second - square)
