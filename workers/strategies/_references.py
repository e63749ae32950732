"""Servers that see models without anything being sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid

from workers.engine.messages.arrays import Tensors
from workers.engine.messages.message_keys import OBSERVED
from workers.engine.server.averaging import Averaging
from workers.engine.server.method import MethodContext
from workers.engine.training.rule import LocalRule, LocalWork
from workers.streams import stream


class ObservingServer(Averaging):
    """Nothing travels: models are seen, but no bytes are counted."""

    def request(self, server_round: int, arrays: ArrayRecord) -> dict[str, ArrayRecord]:
        return {OBSERVED: arrays}


class CentralisedServer(ObservingServer):
    """One client that has everything: its model is the global one."""

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        return self.mean(replies, OBSERVED)


class LocalOnlyServer(ObservingServer):
    """Never aggregates."""

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        return None


class ObservedModel(LocalRule):
    """The client's model is seen, but not sent."""

    def reply_name(self, work: LocalWork) -> str:
        return OBSERVED


class LastClientServer(Averaging):
    """Asks one client of the cohort, drawn by the round, and takes its model."""

    def __init__(self, context: MethodContext) -> None:
        super().__init__(context)
        self.seed = context.spec.seed

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        requests = list(super().configure_train(server_round, arrays, config, grid))
        return [requests[int(stream(self.seed, "strategy", round=server_round).integers(len(requests)))]]
