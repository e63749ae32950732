"""Large grids are checked one after the other: each keeps Python busy for seconds, which every page would feel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from experiments.core.errors import BusyError
from workers.spec.grid import count_variants

LARGE = 300
"""Cells: fewer are checked in a moment."""
MOST_OF_ONE_PERSON = 3
"""One at work and those that wait: the editor asks again while somebody types."""
PATIENCE_SECONDS, RETRY_SECONDS = 15.0, 5
BUSY = f"Large grids are being checked. Try again in {RETRY_SECONDS} seconds."


class PlanningTurns:
    """Of this process."""

    def __init__(self, patience: float = PATIENCE_SECONDS) -> None:
        self.patience = patience
        self.turn, self.lock = Lock(), Lock()
        self.asked: Counter[int] = Counter()

    @contextmanager
    def take(self, person: int) -> Iterator[None]:
        with self.lock:
            if self.asked[person] >= MOST_OF_ONE_PERSON:
                raise BusyError(BUSY, RETRY_SECONDS)
            self.asked[person] += 1
        try:
            if not self.turn.acquire(timeout=self.patience):
                raise BusyError(BUSY, RETRY_SECONDS)
            try:
                yield
            finally:
                self.turn.release()
        finally:
            with self.lock:
                self.asked[person] -= 1
                self.asked += Counter()  # forgets whoever has none


turns = PlanningTurns()


@contextmanager
def planning_turn(person: int, blocks: Any) -> Iterator[None]:
    if is_large(blocks):
        with turns.take(person):
            yield
    else:
        yield


def is_large(blocks: Any) -> bool:
    """Seeds aside: they are checked together. What is no grid is refused in a moment, too."""
    if not isinstance(blocks, Sequence):
        return False
    grids = [block for block in blocks if isinstance(block, Mapping)]
    return sum(count_variants({**block, "seeds": None, "seed": None}) for block in grids) > LARGE
