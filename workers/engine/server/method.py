"""What a strategy file builds: the server's side, the clients' side, and what the engine must know of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from flwr.serverapp.strategy import Strategy

from workers.engine.messages.arrays import Tensors
from workers.engine.training.rule import ClientStore, LocalRule

if TYPE_CHECKING:
    from workers.spec import RunSpec

Forward = Callable[[Tensors, torch.Tensor], torch.Tensor]
"""The logits of a model's tensors on some samples."""


@dataclass(frozen=True)
class MethodContext:
    """What a strategy may look at when it is built.

    The spec, the initial model, which of its names are buffers, and of every client the number of its training samples
    and the classes among them.
    """

    spec: RunSpec
    initial: Tensors
    buffers: tuple[str, ...] = ()
    samples: Mapping[int, int] = field(default_factory=dict)
    classes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Survey:
    """A look at the clients before the first round: each trains the model of `spec` for itself and sends it.

    `learn` gets their parameters (no running statistics) by client. It returns the model the rounds start from, and
    metrics of round 0. What is sent counts in round 0.
    """

    spec: RunSpec
    learn: Callable[[Mapping[int, Tensors]], tuple[Tensors, dict[str, float]]]


@dataclass(frozen=True)
class Outputs:
    """Logits [samples, classes], and further numbers per sample by name, whose means go to the method's `judge`."""

    logits: torch.Tensor
    noted: Mapping[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A Flower strategy and the local rule its clients follow.

    `pooled`: all data in one client. `personal`: a client is evaluated with the model it keeps itself.
    `personal_beside`: the server's model is evaluated, and beside it, as `personal_...`, the one a client keeps itself.
    `fine_tune`: the server's model is evaluated, and beside it, as `personal_...`, what each client makes of it by
    plain training of that spec; nothing of it is kept or sent.
    `cycle`: rounds for which a cohort stays together (the first round is a cycle of its own).
    `exchange`: what clients hand to each other once the server has seen their replies; it gets what they keep, and
    those that answered, in the order of their replies.
    `groups`: cohorts are drawn inside each of a round's groups of clients, the same share of each.
    `models`: the model that each client is evaluated with, from the server's.
    `candidates`: several models, from the server's; each client is evaluated with the one that has the least loss on
    what it trains on.
    `held_out_models`: from the server's model the one that each client is evaluated with on what it holds out, where
    that is another than the one on the test set.
    `outputs`: how the server's model, samples and labels become logits, where it is not one network; `judge` gets the
    means of what was noted on the way, and returns metrics of the round.
    """

    server: Strategy
    rule: LocalRule = field(default_factory=LocalRule)
    pooled: bool = False
    personal: bool = False
    cycle: int = 1
    exchange: Callable[[ClientStore, Sequence[int]], None] | None = None
    survey: Survey | None = None
    groups: Callable[[int], Sequence[Sequence[int]]] | None = None
    models: Callable[[Tensors], Mapping[int, Tensors]] | None = None
    outputs: Callable[[Forward, Tensors, torch.Tensor, torch.Tensor], Outputs] | None = None
    judge: Callable[[int, Mapping[str, float]], dict[str, float]] | None = None
    held_out_models: Callable[[Tensors], Mapping[int, Tensors]] | None = None
    personal_beside: bool = False
    fine_tune: RunSpec | None = None
    candidates: Callable[[Tensors], Sequence[Tensors]] | None = None

    def cohort_round(self, number: int) -> int:
        """The round whose draw decides who takes part in that round."""
        return number if number < 2 else 2 + (number - 2) // self.cycle * self.cycle
