"""A chart as every reader needs it: for the browser, in words, and as the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.charts.packing import packed
from experiments.charts.tables import Table


@dataclass(frozen=True)
class Drawn:
    """`empty` says what to do where there is nothing to draw yet."""

    title: str
    figure: Mapping[str, Any]
    description: str
    table: Table
    notes: str = ""
    legend: Sequence[Mapping[str, Any]] = field(default_factory=list)
    empty: str = "The first values appear with the first finished runs."

    def answer(self) -> dict[str, Any]:
        return {
            **packed(dict(self.figure)),
            "title": self.title,
            "description": self.description,
            "notes": self.notes,
            "legend": list(self.legend),
            "empty": self.empty,
        }


def nothing(title: str, why: str) -> Drawn:
    return Drawn(title, {"data": [], "layout": {}}, why, Table((), ()), empty=why)
