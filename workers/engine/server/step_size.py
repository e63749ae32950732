"""How much of its way the server goes, by round: `server_schedule` of a spec."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from workers.engine.messages.arrays import Tensors
from workers.spec import RunSpec


class ServerStepSize:
    """w <- start + factor (proposal - start), which for a server with a learning rate is that rate times the factor.

    Batch statistics are taken as they are.
    """

    def __init__(self, spec: RunSpec, buffers: Sequence[str]) -> None:
        self.schedule, self.rounds, self.buffers = spec.server_schedule, spec.rounds, frozenset(buffers)

    def scale(self, number: int, start: Tensors, proposal: Tensors) -> Tensors:
        """`start` is what the server began the round with."""
        factor = self.schedule.factor(number, self.rounds)
        return {
            name: value if name in self.buffers else torch.lerp(start[name], value, factor)
            for name, value in proposal.items()
        }
