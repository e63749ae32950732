"""A chart as every reader needs it: for the browser, in words, and as the numbers behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.charts.packing import packed
from experiments.charts.tables import Table

BARE: dict[str, Any] = {"data": [], "layout": {"xaxis": {"visible": False}, "yaxis": {"visible": False}}}
"""Nothing to draw: words stand there instead of empty axes."""


@dataclass(frozen=True)
class Drawn:
    """`empty` says what to do where there is nothing to draw yet."""

    title: str
    figure: Mapping[str, Any]
    description: str
    make_table: Callable[[], Table]
    notes: str = ""
    legend: Sequence[Mapping[str, Any]] = field(default_factory=list)
    empty: str = "The first values appear with the first finished runs."

    @property
    def table(self) -> Table:
        """The numbers behind it; made only for those who ask."""
        return self.make_table()

    def answer(self) -> dict[str, Any]:
        return {
            **(packed(dict(self.figure)) if self.figure["data"] else BARE),
            "title": self.title,
            "description": self.description,
            "notes": self.notes,
            "legend": list(self.legend),
            "empty": self.empty,
        }


def nothing(title: str, why: str) -> Drawn:
    return Drawn(title, BARE, why, lambda: Table((), ()), empty=why)
