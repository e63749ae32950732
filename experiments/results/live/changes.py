"""How far this process has been told of changes: what was made of an earlier state is known to be old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from experiments.results.live.events import EventScope

LAB = EventScope()
MOST_SCOPES = 10_000
MOST_MOMENTS = 20_000

Version = tuple[int, int]


class Changes:
    """Counted for the lab, each study and each run, in the order in which PostgreSQL tells every process of them."""

    def __init__(self) -> None:
        self.epoch = 0
        self.counts: Counter[EventScope] = Counter()
        self.moments: dict[float, None] = {}

    def start_over(self) -> None:
        """What happened while nobody listened is not known."""
        self.epoch += 1
        self.counts.clear()
        self.moments.clear()

    def add(self, events: Iterable[Mapping[str, Any]]) -> None:
        for event in events:
            self.counts.update(scopes_of(event))
            self.moments[event.get("at", 0.0)] = None
        if len(self.counts) > MOST_SCOPES:
            self.start_over()
        while len(self.moments) > MOST_MOMENTS:
            del self.moments[next(iter(self.moments))]

    def version(self, scope: EventScope) -> Version:
        return self.epoch, self.counts[scope]

    def has_seen(self, moment: float) -> bool:
        """Whether the event of that moment was among what was counted here, and so all before it."""
        return moment in self.moments


def scopes_of(event: Mapping[str, Any]) -> list[EventScope]:
    run = [EventScope(run=event["run"])] if "run" in event else []
    return [LAB, *(EventScope(study=study) for study in event["studies"]), *run]
