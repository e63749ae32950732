"""Layers that clients keep: they go on from their own, and the server never changes its copy."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.server.method import Method, MethodContext
from workers.engine.training.rule import Contribution, LocalRule, LocalStep, LocalWork, Terms
from workers.strategies._composition import Aggregation, ComposedServer

RUNNING_MEAN = "running_mean"


def keep_layers(context: MethodContext, names: Sequence[str], rule: LocalRule) -> Method:
    """FedAvg in which these parameters and buffers stay with the clients, as the rule has it."""
    unsent = sum(context.initial[name].nbytes for name in names)
    return Method(ComposedServer(context, SharedLayers(names, unsent)), rule, personal=True)


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


class HeadThenBase(OwnLayers):
    """The first floor(share * steps) of a client's steps move its own layers alone, the others all but these.

    What does not move in a step has a gradient of zero there, and is put back after the optimizer's step, which may
    come with momentum or weight decay.
    """

    def __init__(self, names: Sequence[str], share: float) -> None:
        super().__init__(names)
        self.share = share

    def gradient(self, work: LocalWork, step: LocalStep) -> None:
        head_steps = torch.floor(self.share * work.steps + 1e-9)[step.rows]
        in_head = (step.step < head_steps).to(next(iter(step.grads.values())).device)
        work.rule["before"] = {name: value.clone() for name, value in step.params.items()}
        work.rule["moves"] = {
            name: (in_head if name in self.names else ~in_head).view(-1, *[1] * (value.ndim - 1))
            for name, value in step.params.items()
        }
        for name, gradient in step.grads.items():
            gradient.mul_(work.rule["moves"][name])

    def stepped(self, work: LocalWork, step: LocalStep) -> None:
        for name, value in step.params.items():
            value.copy_(torch.where(work.rule["moves"][name], value, work.rule["before"][name]))


class OwnModelNearGlobal(LocalRule):
    """v_i, which the client goes on with from round to round: its gradient gains pull (v_i - w_t)."""

    def __init__(self, pull: float) -> None:
        self.pull = pull

    def start(self, work: LocalWork) -> None:
        for stack in (work.params, work.buffers):
            for name, values in stack.items():
                values.copy_(work.store.read(work.clients, name, work.anchor[name]))

    def terms(self, work: LocalWork) -> Terms:
        return Terms(pull=self.pull)

    def finish(self, work: LocalWork) -> Contribution:
        for name, values in {**work.params, **work.buffers}.items():
            work.store.write(work.clients, name, values)
        return Contribution()


class PlainAndPersonal(LocalRule):
    """FedAvg's local training, and after it that of a model of the client's own."""

    def __init__(self, personal: LocalRule) -> None:
        self.personal = personal


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
