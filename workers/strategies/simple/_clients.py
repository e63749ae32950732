"""The clients' side of a `SimpleStrategy`: its methods as a local rule, and what they see as `client`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from workers.engine.clients import SHARED_STREAM
from workers.engine.messages.arrays import Tensors
from workers.engine.training.rule import Contribution, LocalRule, LocalStep, LocalWork, Part
from workers.engine.training.schedule import Rows
from workers.errors import TributaryError
from workers.strategies.simple._weights import Weights, WeightsError, number_like, tensors_like
from workers.strategies.simple.declaration import CLIENT_WORDS, SERVER_WORDS, SimpleStrategy, StateKind
from workers.streams import stream

Value = Tensors | torch.Tensor
"""Tensors by parameter, or a number for each client."""
STATE, SERVER, SENT, NUMBER = "state/", "server-", "sent-", "number"
"""How a client's state is called in its store, the server's in requests, and what clients send along in replies."""
ALL_ROWS = slice(None)


class UnknownNameError(TributaryError, AttributeError):
    """A name that `client` or `server` has not."""


def unknown_name(strategy: SimpleStrategy, view: str, name: str) -> UnknownNameError:
    """What is declared, and what is there anyway."""
    owner, attribute = type(strategy).__name__, f"{view}_state"
    declared = ", ".join(getattr(strategy, attribute)) or "nothing"
    words = ", ".join(CLIENT_WORDS if view == "client" else SERVER_WORDS)
    return UnknownNameError(
        f"{owner}: {view} has no {name}. {attribute} declares {declared}; besides, {view} has {words}."
    )


def overrides(strategy: SimpleStrategy, method: str) -> bool:
    return getattr(type(strategy), method) is not getattr(SimpleStrategy, method)


@dataclass
class ClientRound:
    """A stack of clients in a round: where they start, their state, what the server sent, and what they send along."""

    start: Tensors
    state: dict[str, Value]
    server: dict[str, Value]
    generators: list[np.random.Generator]
    assigned: set[str] = field(default_factory=set)
    sent: dict[str, Value] = field(default_factory=dict)


class BroadcastState:
    """`client.server`: the server's state that came with the model."""

    def __init__(self, strategy: SimpleStrategy, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values, _strategy=strategy)

    def __getattr__(self, name: str) -> Any:
        strategy: SimpleStrategy = self.__dict__["_strategy"]
        known = ", ".join(strategy.broadcast) or "nothing"
        raise UnknownNameError(
            f"{type(strategy).__name__}: the server sends no {name}. broadcast names {known}; it takes names of "
            "server_state."
        )


class ClientView:
    """`client`: some rows of a stack, all at once. What has a row or a number for each client keeps their order."""

    _strategy: SimpleStrategy
    _work: LocalWork
    _known: ClientRound
    _rows: Rows | None

    def __init__(self, strategy: SimpleStrategy, work: LocalWork, rows: Rows | None = None) -> None:
        self.__dict__.update(_strategy=strategy, _work=work, _known=work.rule["simple"], _rows=rows)

    @property
    def _place(self) -> Rows:
        return ALL_ROWS if self._rows is None else self._rows

    @property
    def _numbers(self) -> list[int]:
        """Which rows of the stack these are."""
        everyone = range(len(self._work.clients))
        return list(everyone[self._place]) if isinstance(self._place, slice) else self._place.tolist()

    def _weights(self, tensors: Mapping[str, torch.Tensor]) -> Weights:
        return Weights({name: each[self._place] for name, each in tensors.items()}, len(self._numbers))

    def _value(self, value: Value) -> Weights | torch.Tensor:
        return value[self._place] if isinstance(value, torch.Tensor) else self._weights(value)

    def _per_client(self, numbers: Sequence[float] | torch.Tensor) -> torch.Tensor:
        like = next(iter(self._known.start.values()))
        return torch.as_tensor(numbers).to(like)[self._place]

    def __getattr__(self, name: str) -> Any:
        if name not in self._known.state:
            raise unknown_name(self._strategy, "client", name)
        return self._value(self._known.state[name])

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._known.state:
            raise unknown_name(self._strategy, "client", name)
        write_value(self._known.state[name], self._place, value, f"{type(self._strategy).__name__}: client.{name}")
        self._known.assigned.add(name)

    @property
    def start(self) -> Weights:
        """The model that came from the server; of private layers the client's own."""
        return self._weights(self._known.start)

    @property
    def samples(self) -> torch.Tensor:
        """Training samples of each client."""
        return self._per_client(self._work.samples)

    @property
    def steps(self) -> torch.Tensor:
        """How many local steps each client takes in this round."""
        return self._per_client(self._work.steps)

    @property
    def round(self) -> int:
        return self._work.round

    @property
    def lr(self) -> float:
        """The local learning rate of this round."""
        return float(self._work.optimizer.lr)

    @property
    def server(self) -> BroadcastState:
        return BroadcastState(self._strategy, {name: self._value(each) for name, each in self._known.server.items()})

    def send(self, **values: Any) -> None:
        """Along with the model, in `before` or `after`: weights, or a number for each client."""
        self._require_whole_round("send")
        for name, value in values.items():
            place = f"{type(self._strategy).__name__}: client.send({name})"
            if isinstance(value, Weights):
                tensors = tensors_like(value, self._known.start, place)
                self._known.sent[name] = {each: tensor.clone() for each, tensor in tensors.items()}
            else:
                self._known.sent[name] = number_like(value, self.samples, place)

    def normal(self) -> Weights:
        """Standard normal values, drawn from each client's own stream of this round."""
        return Weights(
            {
                name: torch.stack([normal_like(each[0], self._known.generators[row]) for row in self._numbers])
                for name, each in self._known.start.items()
            },
            len(self._numbers),
        )

    def full_gradient(self) -> Weights:
        """Each client's gradient at the server's model over all its samples, in `before` or `after`."""
        self._require_whole_round("full_gradient")
        return self._weights(self._work.full_gradient())

    def loss(self, w: Weights, on: Part = "train") -> torch.Tensor:
        """Of each row of `w` on its client's training or validation samples, in `before` or `after`."""
        self._require_whole_round("loss")
        tensors = tensors_like(w, self._known.start, f"{type(self._strategy).__name__}: client.loss(w)")
        return self._work.mean_loss(on, {**tensors, **self._work.buffers})[0]

    def _require_whole_round(self, method: str) -> None:
        if self._rows is not None:
            raise WeightsError(
                f"{type(self._strategy).__name__}: client.{method}() is for before() and after(), not for every step."
            )


def write_value(stack: Value, rows: Rows, value: Any, place: str) -> None:
    if isinstance(stack, torch.Tensor):
        stack[rows] = number_like(value, stack[rows], place)
        return
    for name, tensor in tensors_like(value, {name: each[rows] for name, each in stack.items()}, place).items():
        stack[name][rows] = tensor


def normal_like(value: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(tuple(value.shape))).to(value)


class SimpleRule(LocalRule):
    """Calls the strategy's methods. What clients remember lies in the store: their state, and their own layers."""

    def __init__(self, strategy: SimpleStrategy, private: Sequence[str], seed: int) -> None:
        self.strategy, self.private, self.seed = strategy, tuple(private), seed
        self.changes_gradients = overrides(strategy, "gradient")
        self.changes_steps = overrides(strategy, "after_step")

    def start(self, work: LocalWork) -> None:
        for name in self.private:
            values = work.params[name] if name in work.params else work.buffers[name]
            values.copy_(work.store.read(work.clients, name, work.anchor[name]))
        work.rule["simple"] = ClientRound(
            {name: self.start_of(work, name) for name in work.params},
            {name: stored_value(work, name, kind) for name, kind in self.strategy.client_state.items()},
            {name: self.received_value(work, name) for name in self.strategy.broadcast},
            [self.generator(client, work.round) for client in work.clients],
        )
        self.call("before", self.strategy.before, work)

    def start_of(self, work: LocalWork, name: str) -> torch.Tensor:
        if name in self.private:
            return work.params[name].clone()
        return work.anchor[name].expand(work.params[name].shape)

    def received_value(self, work: LocalWork, name: str) -> Value:
        received, clients = work.received[SERVER + name], len(work.clients)
        rows = {each: tensor.expand(clients, *tensor.shape) for each, tensor in received.items()}
        return rows if is_weights(self.strategy.server_state[name]) else rows[NUMBER]

    def generator(self, client: int, number: int) -> np.random.Generator:
        return stream(self.seed, "strategy", client=client if client >= 0 else SHARED_STREAM, round=number)

    def call(self, name: str, method: Callable[..., Any], work: LocalWork) -> None:
        """`before` and `after` may put other weights in the place of a client's own."""
        if overrides(self.strategy, name):
            view = ClientView(self.strategy, work)
            self.put(name, method(view, Weights(work.params, len(work.clients))), work.params)

    def put(self, method: str, result: Any, into: Tensors) -> None:
        if result is not None:
            self.put_required(method, result, into)

    def put_required(self, method: str, result: Any, into: Tensors) -> None:
        place = f"What {type(self.strategy).__name__}.{method}() returns"
        for name, tensor in tensors_like(result, into, place).items():
            into[name].copy_(tensor)

    def gradient(self, work: LocalWork, step: LocalStep) -> None:
        view, count = ClientView(self.strategy, work, step.rows), rows_in(step)
        result = self.strategy.gradient(view, Weights(step.grads, count), Weights(step.params, count))
        self.put_required("gradient", result, step.grads)

    def stepped(self, work: LocalWork, step: LocalStep) -> None:
        view = ClientView(self.strategy, work, step.rows)
        self.put("after_step", self.strategy.after_step(view, Weights(step.params, rows_in(step))), step.params)

    def finish(self, work: LocalWork) -> Contribution:
        self.call("after", self.strategy.after, work)
        known: ClientRound = work.rule["simple"]
        for name in self.private:
            work.store.write(work.clients, name, work.params[name] if name in work.params else work.buffers[name])
        for name in known.assigned:
            for path, stack in named_stacks(STATE + name, known.state[name]).items():
                work.store.write(work.clients, path, stack)
        arrays = {SENT + name: value for name, value in known.sent.items() if not isinstance(value, torch.Tensor)}
        numbers = {SENT + name: value.tolist() for name, value in known.sent.items() if isinstance(value, torch.Tensor)}
        return Contribution(arrays, numbers)


def rows_in(step: LocalStep) -> int:
    return len(next(iter(step.params.values())))


def is_weights(kind: StateKind) -> bool:
    return isinstance(kind, str)


def stored_value(work: LocalWork, name: str, kind: StateKind) -> Value:
    """As the clients left it, or as it begins."""
    path, like = STATE + name, next(iter(work.params.values()))
    if isinstance(kind, str):
        beginnings = {
            each: work.anchor[each] if kind == "model" else torch.zeros_like(work.anchor[each]) for each in work.params
        }
        return {each: work.store.read(work.clients, f"{path}/{each}", value) for each, value in beginnings.items()}
    return work.store.read(work.clients, path, torch.tensor(float(kind)).to(like))


def named_stacks(path: str, value: Value) -> dict[str, torch.Tensor]:
    return (
        {path: value}
        if isinstance(value, torch.Tensor)
        else {f"{path}/{name}": tensor for name, tensor in value.items()}
    )
