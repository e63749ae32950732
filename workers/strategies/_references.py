from __future__ import annotations

from collections.abc import Sequence

from flwr.app import ArrayRecord, RecordDict

from workers.engine.arrays import Tensors
from workers.engine.names import OBSERVED
from workers.engine.rule import Contribution, LocalRule, LocalWork
from workers.engine.server import Averaging


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
