"""A pivot of cells: one axis across, everything else that varies down. Nothing is averaged but seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from experiments.charts.labels import Sources, axis_title, axis_values

Value = TypeVar("Value")


@dataclass(frozen=True)
class PivotInfo(Generic[Value]):
    across: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Value | None, ...]], ...]
    axes: tuple[tuple[str, str], ...]


def pivot_info(
    specs: Mapping[str, Mapping[str, Any]],
    values: Mapping[str, Value],
    across: str = "",
    sources: Sources | None = None,
) -> PivotInfo[Value]:
    """`across` names an axis; one that does not vary gives way to the last that does."""
    axes = axis_values(specs, sources)
    chosen = across if across in axes else next(reversed(axes), "")
    table: dict[str, dict[str, Value | None]] = {}
    for cell, spec in specs.items():
        words = [values_of[cell] for axis, values_of in axes.items() if axis != chosen]
        column = axes[chosen][cell] if chosen else str(spec["strategy"]["name"])
        table.setdefault(" · ".join(words), {})[column] = values.get(cell)
    columns = tuple(dict.fromkeys(column for row in table.values() for column in row))
    rows = tuple((row, in_columns(found, columns)) for row, found in table.items())
    return PivotInfo(chosen, columns, rows, tuple((axis, axis_title(axis)) for axis in axes))


def in_columns(found: Mapping[str, Value | None], columns: Sequence[str]) -> tuple[Value | None, ...]:
    return tuple(found.get(column) for column in columns)
