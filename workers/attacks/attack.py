"""An attack as a part of a spec: who is malicious, and what they do to their data or to what they send."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from workers.catalog.part import Part
from workers.errors import Problem
from workers.streams import stream

if TYPE_CHECKING:
    from workers.spec import RunSpec

Samples = tuple[np.ndarray, np.ndarray]
SENDS_NO_MODELS = (
    "does not send every client's model to the server in every round, which this attack changes: choose another "
    "strategy, or label-flip."
)


class Attack(Part):
    """Malicious clients are drawn once for a run; the shared client of hybrid sharing is never one of them."""

    poisons_data: ClassVar[bool] = False
    share: float = Field(0.2, ge=0, lt=1)
    """Share of the clients that are malicious, rounded down; 0 is the run without an attack."""

    @property
    def poisons_models(self) -> bool:
        """Whether malicious clients send other models than those they trained."""
        return not self.poisons_data

    def malicious_clients(self, seed: int, clients: np.ndarray) -> np.ndarray:
        """Sorted. A larger share has all of a smaller share's, and more."""
        count = int(np.floor(self.share * len(clients) + 1e-9))
        return np.sort(stream(seed, "attack").permutation(clients)[:count])

    def poison(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int) -> Samples:
        """A malicious client's training samples, prepared as models take them; `x` and `y` may be changed in place."""
        return x, y

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        from workers.catalog import load_catalog

        strategy = load_catalog().strategies[spec.strategy.name]
        if strategy.pools_data:
            yield Problem(path, f"{strategy.label} has no clients that could be malicious: leave attack empty.")
        elif self.poisons_models and not strategy.sends_models(spec.strategy):
            yield Problem(path, f"{strategy.label} {SENDS_NO_MODELS}")
