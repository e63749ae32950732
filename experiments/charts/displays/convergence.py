"""Rounds and bytes until an accuracy settles: on average, and in the worst case of a standard deviation more."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.charts.displays.reading_table import Seeds, heads_of, words_of
from experiments.charts.displays.table import DisplayTable, Field
from experiments.charts.values import Axes
from experiments.presets.savings import effort

COLUMNS = ("Rounds", "MB per round", "MB, mean", "MB, worst case")
CAPTION = (
    "Until accuracy changes by less than 0.1 points from one round to the next, each detector for itself where there "
    "are any. Worst case: one standard deviation more rounds. Bytes are those of all clients together."
)


def convergence_table(cells: Mapping[str, Seeds], axes: Axes, *, compared: str) -> DisplayTable:
    rows = tuple((words_of(cell, axes, compared), fields(seeds)) for cell, seeds in cells.items() if seeds)
    return DisplayTable("Until convergence", heads_of(axes, compared), COLUMNS, rows, CAPTION)


def fields(seeds: Seeds) -> tuple[Field, ...]:
    found = effort(seeds)
    if found is None:
        return (Field("not yet"), Field("–"), Field("–"), Field("–"))
    each = found.bytes_per_epoch * 1e-6
    return (
        Field(f"{found.mean:.1f} ± {found.deviation:.1f}"),
        *(Field(f"{value:,.2f}") for value in (each, each * found.mean, each * (found.mean + found.deviation))),
    )
