"""FedAvg in one of several rounds only, clients that keep their models, and the rules of FedProx and FedSGD."""

from __future__ import annotations

from collections.abc import Sequence

from flwr.app import ArrayRecord, RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.messages.message_keys import ARRAYS, OBSERVED
from workers.engine.server.averaging import Averaging
from workers.engine.server.method import MethodContext
from workers.engine.training.rule import ClientStore, Contribution, LocalRule, LocalWork, Terms
from workers.strategies._exchange_rounds import is_average_round


class PeriodicAveraging(Averaging):
    """Averages only each `every` rounds; between them the mean of the clients' models is evaluated but never sent."""

    def __init__(self, context: MethodContext, every: int) -> None:
        super().__init__(context)
        self.every = every

    def request(self, server_round: int, arrays: ArrayRecord) -> dict[str, ArrayRecord]:
        broadcast = server_round == 1 or is_average_round(server_round - 1, self.every)
        return {ARRAYS if broadcast else OBSERVED: arrays}

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        if is_average_round(server_round, self.every):
            self.virtual = None
            return self.mean(replies)
        self.virtual = self.mean(replies, OBSERVED)
        return None

    def exchange(self, store: ClientStore, clients: Sequence[int]) -> None:
        """After an average nobody goes on from an own model, not even a client that failed to answer."""
        if self.virtual is None:
            store.forget(list(store.kept))


class OwnModel(LocalRule):
    """Goes on from the client's own model until the next average; one without a model takes the last broadcast.

    Without `every` there is no average: the client keeps its model for good.
    """

    def __init__(self, every: int | None = None) -> None:
        self.every = every

    def averages(self, number: int) -> bool:
        return self.every is not None and is_average_round(number, self.every)

    def start(self, work: LocalWork) -> None:
        if not work.was_sent:
            for stack in (work.params, work.buffers):
                for name, values in stack.items():
                    values.copy_(work.store.read(work.clients, name, work.anchor[name]))

    def finish(self, work: LocalWork) -> Contribution:
        if not self.averages(work.round):
            for name, values in {**work.params, **work.buffers}.items():
                work.store.write(work.clients, name, values)
        return Contribution()

    def reply_name(self, work: LocalWork) -> str:
        return ARRAYS if self.averages(work.round) else OBSERVED


class ProximalTerm(LocalRule):
    """The gradient of (mu/2) ||w - w_t||^2 is mu (w - w_t)."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def terms(self, work: LocalWork) -> Terms:
        return Terms(pull=self.mu)


class OneStep(LocalRule):
    full_batch = True
