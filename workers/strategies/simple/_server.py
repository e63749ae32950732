"""The server's side of a `SimpleStrategy`: Flower's FedAvg with another aggregation and a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord, RecordDict

from workers.engine.messages.arrays import Tensors, record_of, tensor_of, weighted_mean
from workers.engine.messages.message_keys import ARRAYS, METRICS, SAMPLES, STEPS, TRAIN_LOSS
from workers.engine.server.averaging import Averaging, array_record, metric, weights_of
from workers.engine.server.method import MethodContext
from workers.strategies.simple._clients import (
    NUMBER,
    SENT,
    SERVER,
    UnknownNameError,
    is_weights,
    normal_like,
    unknown_name,
)
from workers.strategies.simple._weights import Weights, WeightsError, number_like, tensors_like
from workers.strategies.simple.declaration import SimpleStrategy
from workers.streams import stream


class SimpleServer(Averaging):
    """Batch statistics are averaged by samples, whatever the strategy makes of the parameters."""

    def __init__(self, context: MethodContext, strategy: SimpleStrategy, private: Sequence[str]) -> None:
        super().__init__(context)
        self.strategy, self.private, self.seed = strategy, tuple(private), context.spec.seed
        self.clients, self.samples = len(context.samples), sum(context.samples.values())
        self.parameters = [name for name in context.initial if name not in context.buffers]
        self.unsent = sum(context.initial[name].nbytes for name in private)
        for name, kind in strategy.server_state.items():
            if isinstance(kind, str):
                start = {each: context.initial[each].clone() for each in self.parameters}
                self.write(name, start if kind == "model" else {each: 0 * value for each, value in start.items()})
            else:
                like = context.initial[self.parameters[0]]
                self.write(name, {NUMBER: torch.tensor(float(kind)).to(like)})

    def write(self, name: str, value: Tensors) -> None:
        self.state |= {f"{name}/{each}": tensor for each, tensor in value.items()}

    def read(self, name: str) -> Tensors:
        names = self.parameters if is_weights(self.strategy.server_state[name]) else [NUMBER]
        return {each: self.state[f"{name}/{each}"] for each in names}

    def request(self, server_round: int, arrays: ArrayRecord) -> dict[str, ArrayRecord]:
        own = {SERVER + name: record_of(self.read(name)) for name in self.strategy.broadcast}
        return {**super().request(server_round, arrays), **own}

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        result = self.strategy.aggregate(ServerView(self, server_round), Replies(self, replies))
        place = f"What {type(self.strategy).__name__}.aggregate() returns"
        if isinstance(result, Weights) and result.clients is not None:
            raise WeightsError(f"{place} must be one model, and not one for each client: take a mean of them.")
        new = tensors_like(result, {name: self.sent[name] for name in self.parameters}, place)
        if self.private:
            for way in ("bytes_up", "bytes_down"):
                self.reported[way] = -float(self.unsent * len(replies))
        buffers = self.mean(replies) if self.buffers else {}
        return {**buffers, **new, **{name: self.sent[name] for name in self.private}}


class ServerView:
    """`server`: the model that was sent, the server's state, and what it knows of the federation."""

    _server: SimpleServer
    _generator: np.random.Generator
    clients: int
    samples: int
    round: int

    def __init__(self, server: SimpleServer, number: int) -> None:
        generator = stream(server.seed, "strategy", round=number)
        self.__dict__.update(_server=server, round=number, _generator=generator)
        self.__dict__.update(clients=server.clients, samples=server.samples)

    def __getattr__(self, name: str) -> Any:
        server = self._server
        if name not in server.strategy.server_state:
            raise unknown_name(server.strategy, "server", name)
        value = server.read(name)
        return Weights(value) if is_weights(server.strategy.server_state[name]) else value[NUMBER]

    def __setattr__(self, name: str, value: Any) -> None:
        server = self._server
        if name not in server.strategy.server_state:
            raise unknown_name(server.strategy, "server", name)
        place, old = f"{type(server.strategy).__name__}: server.{name}", server.read(name)
        if is_weights(server.strategy.server_state[name]):
            new = tensors_like(value, old, place)
        else:
            new = {NUMBER: number_like(value, old[NUMBER], place)}
        server.write(name, {each: tensor.clone() for each, tensor in new.items()})

    @property
    def w(self) -> Weights:
        """The model that the clients got."""
        return Weights({name: self._server.sent[name] for name in self._server.parameters})

    def report(self, **metrics: float) -> None:
        """Metrics of the round, called `<strategy>.<name>`."""
        for name, value in metrics.items():
            self._server.reported[f"{self._server.strategy.name}.{name}"] = float(value)

    def normal(self) -> Weights:
        """Standard normal values, drawn from the server's own stream of this round."""
        return self.w.map(lambda each: normal_like(each, self._generator))


class Replies:
    """`replies`: what the clients of the round answered, in the order of their numbers.

    Of private layers they have what the server has.
    """

    def __init__(self, server: SimpleServer, contents: Sequence[RecordDict]) -> None:
        self._server, self._contents = server, contents

    def __len__(self) -> int:
        return len(self._contents)

    @cached_property
    def w(self) -> Weights:
        """The clients' models."""
        records = [array_record(each, ARRAYS) for each in self._contents]
        return Weights({name: self._stack(name, records) for name in self._server.parameters}, len(self))

    def _stack(self, name: str, records: Sequence[Mapping[str, Any]]) -> torch.Tensor:
        if name in self._server.private:
            sent = self._server.sent[name]
            return sent.expand(len(records), *sent.shape)
        return torch.stack([tensor_of(record[name]) for record in records])

    def mean(self, *, uniform: bool = False, weights: torch.Tensor | None = None) -> Weights:
        """The mean of their models by samples; all the same if `uniform`; or as `weights` says, made to add up to 1."""
        if weights is not None:
            shares = (weights / weights.sum()).tolist()
        else:
            shares = [1 / len(self)] * len(self) if uniform else weights_of(self._contents)
        records = [array_record(each, ARRAYS) for each in self._contents]
        names = [name for name in self._server.parameters if name not in self._server.private]
        mean = weighted_mean(records, shares, names)
        return Weights({name: mean.get(name, self._server.sent[name]) for name in self._server.parameters})

    @property
    def samples(self) -> torch.Tensor:
        """Training samples of each client."""
        return self._numbers(SAMPLES)

    @property
    def steps(self) -> torch.Tensor:
        """Local steps that each client took."""
        return self._numbers(STEPS)

    @property
    def losses(self) -> torch.Tensor:
        """Each client's mean training loss over its steps."""
        return self._numbers(TRAIN_LOSS)

    def _numbers(self, name: str) -> torch.Tensor:
        like = self._server.sent[self._server.parameters[0]]
        return torch.tensor([metric(each, name) for each in self._contents]).to(like)

    def __getitem__(self, name: str) -> Weights | torch.Tensor:
        """What the clients sent along under that name: weights, or a number of each."""
        first = self._contents[0]
        if SENT + name in first:
            records = [array_record(each, SENT + name) for each in self._contents]
            stacks = {
                each: torch.stack([tensor_of(record[each]) for record in records]) for each in self._server.parameters
            }
            return Weights(stacks, len(self))
        if SENT + name in first[METRICS]:
            return self._numbers(SENT + name)
        raise UnknownNameError(
            f"{type(self._server.strategy).__name__}: the clients sent no {name}: write client.send({name}=...) in "
            "after()."
        )
