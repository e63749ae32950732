from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.server.averaging import Averaging
from workers.engine.server.method import MethodContext

STEP, MOST = 25_000_000, 40


class Misbehaving(Averaging):
    def __init__(self, context: MethodContext, how: str, at: int) -> None:
        super().__init__(context)
        self.how, self.at = how, at

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        if server_round == self.at:
            self.never_end()
        return super().combine(server_round, replies)

    def never_end(self) -> None:
        """A leak takes 100 MB at a time, written to and therefore resident; 4 GB are enough even if nothing ends it."""
        held: list[torch.Tensor] = []
        while True:
            if self.how == "leaks" and len(held) < MOST:
                held.append(torch.ones(STEP))
            time.sleep(0.02)
