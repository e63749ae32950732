"""Clients that go on from models of their own, and the servers beside them."""

from __future__ import annotations

from collections.abc import Sequence

from flwr.app import ArrayRecord, RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.messages.message_keys import ARRAYS, OBSERVED
from workers.engine.server.averaging import Averaging
from workers.engine.server.method import MethodContext
from workers.engine.training.rule import ClientStore, Contribution, LocalRule, LocalWork
from workers.strategies._swap_moments import averages


class Periodic(Averaging):
    """Averages only each `every` rounds; between them the mean of the clients' models is evaluated but never sent."""

    def __init__(self, context: MethodContext, every: int) -> None:
        super().__init__(context)
        self.every = every

    def request(self, server_round: int, arrays: ArrayRecord) -> dict[str, ArrayRecord]:
        broadcast = server_round == 1 or averages(server_round - 1, self.every)
        return {ARRAYS if broadcast else OBSERVED: arrays}

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        if averages(server_round, self.every):
            self.virtual = None
            return self.mean(replies)
        self.virtual = self.mean(replies, OBSERVED)
        return None

    def exchange(self, store: ClientStore, clients: Sequence[int]) -> None:
        """After an average nobody goes on from an own model, not even a client that failed to answer."""
        if self.virtual is None:
            store.forget(list(store.kept))


class KeepBetween(LocalRule):
    """Goes on from the client's own model until the next average; one without a model takes the last broadcast."""

    def __init__(self, every: int) -> None:
        self.every = every

    def start(self, work: LocalWork) -> None:
        if not work.was_sent:
            for stack in (work.params, work.buffers):
                for name, values in stack.items():
                    values.copy_(work.store.read(work.clients, name, work.anchor[name]))

    def finish(self, work: LocalWork) -> Contribution:
        if not averages(work.round, self.every):
            for name, values in {**work.params, **work.buffers}.items():
                work.store.write(work.clients, name, values)
        return Contribution()

    def reply_name(self, work: LocalWork) -> str:
        return ARRAYS if averages(work.round, self.every) else OBSERVED


class Pooled(Averaging):
    """One client that has everything: its model is the global one, and nothing travels."""

    def request(self, server_round: int, arrays: ArrayRecord) -> dict[str, ArrayRecord]:
        return {OBSERVED: arrays}

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        return self.mean(replies, OBSERVED)


class ObservedModel(LocalRule):
    def reply_name(self, work: LocalWork) -> str:
        return OBSERVED


class Alone(Averaging):
    """Never aggregates."""

    def request(self, server_round: int, arrays: ArrayRecord) -> dict[str, ArrayRecord]:
        return {OBSERVED: arrays}

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        return None


class OwnModel(LocalRule):
    """Every client goes on from its own model and keeps it."""

    def start(self, work: LocalWork) -> None:
        for stack in (work.params, work.buffers):
            for name, values in stack.items():
                values.copy_(work.store.read(work.clients, name, work.anchor[name]))

    def finish(self, work: LocalWork) -> Contribution:
        for name, values in {**work.params, **work.buffers}.items():
            work.store.write(work.clients, name, values)
        return Contribution()

    def reply_name(self, work: LocalWork) -> str:
        return OBSERVED
