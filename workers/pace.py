from __future__ import annotations

import time
from collections import deque

PACE_SECONDS = 10.0


class Pace:
    """Rounds per second over the last seconds."""

    def __init__(self) -> None:
        self.rounds: deque[float] = deque(maxlen=10_000)

    def note(self, rounds: int) -> None:
        self.rounds.extend([time.monotonic()] * rounds)

    @property
    def per_second(self) -> float:
        since = time.monotonic() - PACE_SECONDS
        return sum(1 for moment in self.rounds.copy() if moment > since) / PACE_SECONDS
