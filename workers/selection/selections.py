"""How a round's cohort is chosen among the clients, as parts of a spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from workers.catalog.part import Part, choice_of
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.spec import RunSpec


@dataclass(frozen=True)
class Draw:
    """What a selection may look at: the clients, their training samples, how many are wanted, the round from 1.

    `rng` is the round's stream and `order` that of the run. `losses` measures the global model on the training samples
    of these clients, for which it must be sent to them.
    """

    clients: np.ndarray
    sizes: np.ndarray
    count: int
    round: int
    rng: np.random.Generator
    order: np.random.Generator
    losses: Callable[[np.ndarray], np.ndarray]


class Selection(Part):
    measures_losses: ClassVar[bool] = False

    def choose(self, draw: Draw) -> np.ndarray:
        raise NotImplementedError

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        from workers.catalog import load_catalog

        strategy = load_catalog().strategies[spec.strategy.name]
        if not strategy.sends_models(spec.strategy):
            yield Problem(path, f"{strategy.label} draws or keeps its cohorts in its own way: leave it uniform.")
        if spec.privacy is not None:
            yield Problem(path, "The accountant of privacy reckons with cohorts drawn uniformly: leave it uniform.")


class UniformSelection(Selection):
    """Every client with the same chance, without replacement."""

    label = "Uniform"
    name: Literal["uniform"] = "uniform"

    def choose(self, draw: Draw) -> np.ndarray:
        return draw.rng.choice(draw.clients, draw.count, replace=False)

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        return ()


class BySize(Selection):
    """A client's chance is its share of all training samples, without replacement."""

    label = "By size"
    paper = "Li et al.: Federated Optimization in Heterogeneous Networks, MLSys 2020"
    name: Literal["by-size"] = "by-size"

    def choose(self, draw: Draw) -> np.ndarray:
        return by_weight(draw.rng, draw.clients, draw.count, draw.sizes)


class RoundRobin(Selection):
    """In turn, in an order that the seed shuffles once: after clients / cohort rounds everybody was there."""

    label = "Round robin"
    name: Literal["round-robin"] = "round-robin"

    def choose(self, draw: Draw) -> np.ndarray:
        first = (draw.round - 1) * draw.count
        turn = draw.order.permutation(draw.clients)
        return turn[np.arange(first, first + draw.count) % len(turn)]


class PowerOfChoice(Selection):
    """Of some candidates, drawn by size, those take part on whose data the global model does worst.

    Candidates get the model and answer with its loss on their training samples: the model for those that do not take
    part, and a number from each, count as bytes.
    """

    label = "Power of choice"
    paper = "Cho et al.: Client Selection in Federated Learning: Convergence Analysis and Power-of-Choice, 2020"
    measures_losses = True
    name: Literal["power-of-choice"] = "power-of-choice"
    candidates: int = Field(20, ge=1)
    """How many are asked for their loss; at least as many as take part in a round."""

    def choose(self, draw: Draw) -> np.ndarray:
        asked = np.sort(by_weight(draw.rng, draw.clients, min(self.candidates, len(draw.clients)), draw.sizes))
        return asked[np.argsort(-draw.losses(asked), kind="stable")[: draw.count]]

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from super().problems(spec, path)
        if self.candidates < spec.cohort_size:
            yield Problem(
                f"{path}.candidates",
                f"{self.candidates} candidates, but {spec.cohort_size} clients take part: ask as many or more.",
            )


class LossBased(Selection):
    """A client's chance is the global model's loss on its training samples, over the sum of all, without replacement.

    Every client is asked in every round, which counts as bytes as in power-of-choice.
    """

    label = "Loss based"
    paper = "Goetz et al.: Active Federated Learning, 2019 (with the loss of every round)"
    measures_losses = True
    name: Literal["loss-based"] = "loss-based"

    def choose(self, draw: Draw) -> np.ndarray:
        return by_weight(draw.rng, draw.clients, draw.count, draw.losses(draw.clients))


def by_weight(rng: np.random.Generator, clients: np.ndarray, count: int, weights: np.ndarray) -> np.ndarray:
    """Without replacement; uniformly where the weights say nothing."""
    usable = np.where(np.isfinite(weights) & (weights > 0), weights, 0.0).astype(np.float64)
    if np.count_nonzero(usable) < count:
        return rng.choice(clients, count, replace=False)
    return rng.choice(clients, count, replace=False, p=usable / usable.sum())


SELECTIONS: tuple[type[Selection], ...] = (UniformSelection, BySize, RoundRobin, PowerOfChoice, LossBased)
if TYPE_CHECKING:
    SelectionChoice = Selection
else:
    SelectionChoice = choice_of(SELECTIONS)
