"""Server optimizers: the mean movement of the cohort is a pseudo-gradient. Buffers are averaged, never optimised."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.messages.message_keys import ARRAYS
from workers.engine.server.averaging import array_record
from workers.strategies._composition import ComposedServer, ServerStep
from workers.strategies._weighting import squared_movement

MEAN, SQUARE = "mean/", "square/"


class PartialStep(ServerStep):
    """w <- w + server_lr (mean - w)."""

    def __init__(self, server_lr: float) -> None:
        self.server_lr = server_lr

    def new_value(self, server: ComposedServer, name: str, proposal: torch.Tensor) -> torch.Tensor:
        return proposal if self.server_lr == 1 else torch.lerp(server.sent[name], proposal, self.server_lr)


class Extrapolation(ServerStep):
    """w <- w + eta (mean - w), eta = max(1, mean_i |w_i - w|^2 / (2 (|mean - w|^2 + epsilon)))."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def new_model(self, server: ComposedServer, proposal: Tensors, replies: Sequence[RecordDict]) -> Tensors:
        names = [name for name in proposal if name not in server.buffers]
        apart = sum(squared_movement(server, array_record(reply, ARRAYS), names) for reply in replies) / len(replies)
        together = sum(float((proposal[name] - server.sent[name]).square().sum()) for name in names)
        eta = max(1.0, apart / (2 * (together + self.epsilon))) if together + self.epsilon else 1.0
        server.reported["fedexp.step"] = eta
        return {**proposal, **{name: torch.lerp(server.sent[name], proposal[name], eta) for name in names}}


class Momentum(ServerStep):
    """v <- momentum v + (w - mean);  w <- w - server_lr v, or with Nesterov w - server_lr (momentum v + (w - mean)).

    v is kept under `prefix` and the parameter's name.
    """

    def __init__(self, server_lr: float, momentum: float, *, nesterov: bool, prefix: str = "") -> None:
        self.server_lr, self.momentum, self.nesterov, self.prefix = server_lr, momentum, nesterov, prefix

    def new_value(self, server: ComposedServer, name: str, proposal: torch.Tensor) -> torch.Tensor:
        old = server.sent[name]
        gradient = old - proposal
        last = server.state.get(self.prefix + name)
        velocity = gradient if last is None else self.momentum * last + gradient
        server.state[self.prefix + name] = velocity
        return old - self.server_lr * (self.momentum * velocity + gradient if self.nesterov else velocity)


class AdaptiveStep(ServerStep):
    """m <- beta1 m + (1 - beta1) delta;  w <- w + server_lr m / (sqrt(v) + tau), v starting at tau^2."""

    def __init__(self, server_lr: float, beta1: float, tau: float) -> None:
        self.server_lr, self.beta1, self.tau = server_lr, beta1, tau

    def new_value(self, server: ComposedServer, name: str, proposal: torch.Tensor) -> torch.Tensor:
        old, state = server.sent[name], server.state
        delta = proposal - old
        first = state.get(MEAN + name, torch.zeros_like(old))
        second = state.get(SQUARE + name, torch.full_like(old, self.tau**2))
        first = self.beta1 * first + (1 - self.beta1) * delta
        second = self.second_moment(second, delta.square())
        state[MEAN + name], state[SQUARE + name] = first, second
        return old + self.server_lr * first / (second.sqrt() + self.tau)

    @abstractmethod
    def second_moment(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor: ...


class Adagrad(AdaptiveStep):
    def second_moment(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
        return second + square


class Adam(AdaptiveStep):
    def __init__(self, server_lr: float, beta1: float, beta2: float, tau: float) -> None:
        super().__init__(server_lr, beta1, tau)
        self.beta2 = beta2

    def second_moment(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
        return self.beta2 * second + (1 - self.beta2) * square


class Yogi(Adam):
    def second_moment(self, second: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
        return second - (1 - self.beta2) * square * torch.sign(second - square)
