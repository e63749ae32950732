"""What the engine asks of a strategy's server beyond Flower's own methods."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from flwr.serverapp.strategy import Strategy

from workers.engine.messages.arrays import Tensors
from workers.engine.server.attributes import AttributeWatch

NOTHING: Mapping[str, Any] = MappingProxyType({})


class ServerSide:
    """The protocol, with the answers of a server that has nothing to say.

    `state`: tensors that are saved in checkpoints; `load` gets them back. Other attributes that change from round to
    round are saved too, as long as they are made of tensors, arrays, numbers and texts, except those in `transient`,
    which every round sets anew.
    `virtual`: where set, the model that is evaluated in place of the global one.
    `findings`: plain values, stored with the run.
    """

    transient: ClassVar[tuple[str, ...]] = ()
    state: Tensors
    virtual: Tensors | None = None
    if TYPE_CHECKING:

        @property
        def findings(self) -> Mapping[str, Any]: ...
    else:
        findings = NOTHING  # a plain attribute: plugins set it, or make it a property

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """What `state` was when the checkpoint was written."""

    def attribute_watches(self) -> list[AttributeWatch]:
        """For each object that remembers something between rounds."""
        return [AttributeWatch("server", self, (*self.transient, "state"))]

    def final_model(self, model: Tensors, clients: Mapping[int, Tensors]) -> Tensors:
        """What a run leaves: the model that was evaluated last, given the global one.

        `clients` has the model of each client where the method evaluates each with its own. Several models are named
        `<owner>/<parameter>`.
        """
        if not clients:
            return self.virtual or model
        return {f"client.{client}/{name}": tensor for client, own in clients.items() for name, tensor in own.items()}


class FlowerServer(ServerSide):
    """A strategy of Flower's, or one written for Flower alone: it may tell findings and a virtual model."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.state = {}

    @property
    def virtual(self) -> Tensors | None:  # type: ignore[override]
        return vars(self.strategy).get("virtual")

    def attribute_watches(self) -> list[AttributeWatch]:
        return strategy_watches(self.strategy, "server")

    @property
    def findings(self) -> Mapping[str, Any]:
        findings: Mapping[str, Any] = getattr(self.strategy, "findings", NOTHING)
        return findings


def strategy_watches(strategy: Strategy, name: str) -> list[AttributeWatch]:
    """Of the strategy and of those that it wraps, each with what is its own."""
    inner = {key: value for key, value in vars(strategy).items() if isinstance(value, Strategy)}
    own = AttributeWatch(name, strategy, tuple(inner))
    return [own, *(watch for key, each in inner.items() for watch in strategy_watches(each, f"{name}.{key}"))]


def server_side(strategy: Strategy) -> ServerSide:
    return strategy if isinstance(strategy, ServerSide) else FlowerServer(strategy)
