from __future__ import annotations

from collections.abc import Sequence

import torch
from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.server.method import MethodContext
from workers.engine.training.rule import Contribution, LocalRule, LocalWork, Terms
from workers.strategies._composition import Companion, ComposedServer

DYNAMIC = "dynamic/"


class DynamicRegulariser(LocalRule):
    """Gradient - g_i + alpha (w - w_t); afterwards g_i <- g_i - alpha (w_i - w_t)."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def own(self, work: LocalWork) -> Tensors:
        return {
            name: work.store.read(work.clients, DYNAMIC + name, torch.zeros_like(work.anchor[name]))
            for name in work.params
        }

    def terms(self, work: LocalWork) -> Terms:
        return Terms(pull=self.alpha, gradient={name: -value for name, value in self.own(work).items()})

    def finish(self, work: LocalWork) -> Contribution:
        for name, value in self.own(work).items():
            moved = work.params[name] - work.anchor[name]
            work.store.write(work.clients, DYNAMIC + name, value - self.alpha * moved)
        return Contribution()


class DynamicServer(Companion):
    """h <- h - alpha (n / N) (mean - w), with n of N clients;  w <- mean - h / alpha."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def initial_state(self, context: MethodContext) -> Tensors:
        names = [name for name in context.initial if name not in context.buffers]
        return {DYNAMIC + name: torch.zeros_like(context.initial[name]) for name in names}

    def collect(self, server: ComposedServer, replies: Sequence[RecordDict], proposal: Tensors) -> Tensors:
        result = dict(proposal)
        share = self.alpha * len(replies) / server.clients
        for name, mean in proposal.items():
            if name not in server.buffers:
                server.state[DYNAMIC + name] = server.state[DYNAMIC + name] - share * (mean - server.sent[name])
                result[name] = mean - server.state[DYNAMIC + name] / self.alpha
        return result
