"""What a strategy file builds: the server's side, the clients' side, and what the engine must know of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flwr.serverapp.strategy import Strategy

from workers.engine.arrays import Tensors
from workers.engine.rule import ClientStore, LocalRule

if TYPE_CHECKING:
    from workers.spec import RunSpec


@dataclass(frozen=True)
class MethodContext:
    """What a strategy may look at when it is built.

    The spec, the initial model, which of its names are buffers, and every client's number of training samples.
    """

    spec: RunSpec
    initial: Tensors
    buffers: tuple[str, ...] = ()
    samples: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A Flower strategy and the local rule its clients follow.

    `pooled`: all data in one client. `personal`: a client is evaluated with the model it keeps itself.
    `cycle`: rounds for which a cohort stays together (the first round is a cycle of its own).
    `exchange`: what clients hand to each other once the server has seen their replies; it gets what they keep, and
    those that answered, in the order of their replies.
    """

    server: Strategy
    rule: LocalRule = field(default_factory=LocalRule)
    pooled: bool = False
    personal: bool = False
    cycle: int = 1
    exchange: Callable[[ClientStore, Sequence[int]], None] | None = None

    def cohort_round(self, number: int) -> int:
        """The round whose draw decides who takes part in that round."""
        return number if number < 2 else 2 + (number - 2) // self.cycle * self.cycle
