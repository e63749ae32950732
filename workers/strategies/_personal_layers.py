"""Layers that clients keep: they go on from their own, and the server never changes its copy."""

from __future__ import annotations

from collections.abc import Sequence

from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.server.method import Method, MethodContext
from workers.engine.training.rule import Contribution, LocalRule, LocalWork
from workers.strategies._composition import Aggregation, ComposedServer

RUNNING_MEAN = "running_mean"


def keep_layers(context: MethodContext, names: Sequence[str]) -> Method:
    """FedAvg in which these parameters and buffers stay with the clients."""
    unsent = sum(context.initial[name].nbytes for name in names)
    return Method(ComposedServer(context, SharedLayers(names, unsent)), OwnLayers(names), personal=True)


def norm_layers(context: MethodContext) -> list[str]:
    """All that belongs to a layer with running statistics."""
    layers = {layer_of(name) for name in context.buffers if name.rpartition(".")[2] == RUNNING_MEAN}
    return [name for name in context.initial if layer_of(name) in layers]


def last_layers(context: MethodContext, count: int) -> list[str]:
    """All that belongs to the last so many layers that have parameters."""
    layers = list(dict.fromkeys(layer_of(name) for name in context.initial if name not in context.buffers))[-count:]
    return [name for name in context.initial if layer_of(name) in layers]


def layer_of(name: str) -> str:
    return name.rpartition(".")[0]


class OwnLayers(LocalRule):
    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def start(self, work: LocalWork) -> None:
        for name in self.names:
            values = work.params[name] if name in work.params else work.buffers[name]
            values.copy_(work.store.read(work.clients, name, work.anchor[name]))

    def finish(self, work: LocalWork) -> Contribution:
        for name in self.names:
            work.store.write(work.clients, name, work.params[name] if name in work.params else work.buffers[name])
        return Contribution()


class SharedLayers(Aggregation):
    """The mean by samples of what is sent; what stays with the clients is taken off the bytes of both ways.

    A request to a client that failed is counted as the whole model.
    """

    def __init__(self, names: Sequence[str], unsent: int) -> None:
        self.names, self.unsent = tuple(names), unsent

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        for way in ("bytes_up", "bytes_down"):
            server.reported[way] = -float(self.unsent * len(replies))
        return {**server.mean(replies), **{name: server.sent[name] for name in self.names}}
