"""How far a reader has come: the `Last-Event-ID` of the event stream.

Rounds of different runs commit in any order, so no single number tells what a reader has. The id is a moment of the
database's clock and, for each run that moved shortly before it, the last round that was delivered:
`1763258507123:12.30,13.28`. Runs that are not named had delivered nothing in the window before that moment, so
whatever they committed within it or later has been missed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

WINDOW_SECONDS = 15.0
PATTERN = re.compile(r"(\d{1,15}):((?:\d{1,18}\.\d{1,9})(?:,\d{1,18}\.\d{1,9})*)?")


@dataclass(frozen=True)
class Cursor:
    at: float
    marks: Mapping[int, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{round(self.at * 1000)}:" + ",".join(f"{run}.{number}" for run, number in self.marks.items())


def parse_cursor(text: str) -> Cursor | None:
    """None where a reader is new, or sends what is not a cursor."""
    found = PATTERN.fullmatch(text)
    if found is None:
        return None
    pairs = (pair.split(".") for pair in (found[2] or "").split(",") if pair)
    return Cursor(int(found[1]) / 1000, {int(run): int(number) for run, number in pairs})


class Reader:
    """What one reader was told. Each round is told once, however often it is committed or notified."""

    def __init__(self, start: Cursor) -> None:
        self.at = start.at
        self.told = dict(start.marks)
        self.moved = dict.fromkeys(start.marks, start.at)

    def is_news(self, event: Mapping[str, Any]) -> bool:
        """Takes note of the event; False for a round that the reader has."""
        self.at = max(self.at, event.get("at", 0.0))
        if event["event"] != "metric":
            return True
        run, number = event["run"], event["round"]
        if number <= self.told.get(run, -1):
            return False
        self.told[run], self.moved[run] = number, self.at
        return True

    @property
    def cursor(self) -> Cursor:
        since = self.at - WINDOW_SECONDS
        self.moved = {run: moment for run, moment in self.moved.items() if moment >= since}
        return Cursor(self.at, {run: self.told[run] for run in self.moved})
