"""Where and how each cell is drawn in a comparison: hue, dash and panel, each by an axis of the person's choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.charts.labels import MAIN, follows
from experiments.charts.styles import DASHES, HUES, Style, dash, in_order, name_of, strategy_hues

Axes = Mapping[str, Mapping[str, str]]


NONE = "-"
"""Chosen not to be used, where otherwise one would be chosen automatically."""
CROWDED = 8
"""More lines than this in a panel are a wall."""
FEW_VALUES = 8


@dataclass(frozen=True)
class Placing:
    """Axes by purpose; empty where the person has not chosen."""

    colour: str = ""
    dash: str = ""
    row: str = ""
    column: str = ""
    brief: bool = False
    """Labels do not name fields that follow from what the colour tells."""


@dataclass(frozen=True)
class Placed:
    """`colour` is what the hue stands for."""

    style: Style
    row: str
    column: str
    colour: str = ""

    @property
    def stacked(self) -> tuple[str, str]:
        """Row and column where all panels are one below the other."""
        return "", " · ".join(word for word in (self.row, self.column) if word)

    @property
    def whole_label(self) -> str:
        """With what the panel tells, for charts without panels."""
        return " · ".join(word for word in (self.style.label, self.row, self.column) if word)


def placed(specs: Mapping[str, Mapping[str, Any]], axes: Axes, placing: Placing) -> dict[str, Placed]:
    """An axis that gives the panel, and what follows from it, is told by the panel; others by the line's label."""
    panel = [axes[axis] for axis in (placing.row, placing.column) if axis in axes]
    lines = {axis: words for axis, words in axes.items() if not decided(words, panel)}
    colour = placing.colour if placing.colour in lines else next(iter(lines), "")
    if placing.brief and colour in lines:
        lines = {
            axis: words
            for axis, words in lines.items()
            if axis == colour or axis in MAIN or not decided(words, [lines[colour]])
        }
    hues, turns = hues_of(specs, lines, colour)
    dashes = dash_places(specs, lines, colour, placing.dash)
    return {
        cell: Placed(
            Style(label(cell, spec, lines, colour), hues[cell], dash(dashes[cell] + turns[cell])),
            word(axes, placing.row, cell),
            word(axes, placing.column, cell),
            word(lines, colour, cell) or name_of(spec),
        )
        for cell, spec in specs.items()
    }


def decided(words: Mapping[str, str], by: Sequence[Mapping[str, str]]) -> bool:
    """Whether those axes together leave no choice of this one; nothing is decided by none."""
    return bool(by) and follows(words, {cell: "\n".join(each[cell] for each in by) for cell in words})


def uncrowded(axes: Axes, placing: Placing, lines: int) -> Placing:
    """With panels where nobody chose any and there are too many lines for one: by axes with few values.

    Where even then two lines of a panel would look the same, what gave the colour gives the rows, and the axis with the
    most values has the colours.
    """
    colour = placing.colour or next(iter(axes), "")
    sizes = {axis: len(set(words.values())) for axis, words in axes.items()}
    used = {colour, placing.dash, placing.row, placing.column}
    free = sorted((size, axis) for axis, size in sizes.items() if axis not in used and size <= FEW_VALUES)
    if placing.column or placing.row or lines <= CROWDED:
        return placing
    column, *others = [axis for _, axis in reversed(free)] or [""]
    crowded = others and lines / sizes[column] > CROWDED
    found = replace(placing, column=column, row=others[-1] if crowded else "")
    rest = [axis for axis in axes if axis not in {colour, found.row, found.column}]
    alike = len(set(zip(*(axes[axis].values() for axis in rest), strict=True))) > len(DASHES) if rest else False
    if alike and not (placing.colour or placing.dash or found.row) and sizes[colour] <= FEW_VALUES:
        return replace(found, row=colour, colour=max(rest, key=lambda axis: sizes[axis]))
    return found


def hues_of(specs: Mapping[str, Mapping[str, Any]], lines: Axes, colour: str) -> tuple[dict[str, int], dict[str, int]]:
    """The hue of each cell, and how often the hues had been used up before it: the next dash tells those apart."""
    words = lines.get(colour) or {cell: name_of(spec) for cell, spec in specs.items()}
    fixed = colour in ("", "strategy")
    hues = strategy_hues(specs, words) if fixed else in_order(words[cell] for cell in specs)
    turns = {value: place // HUES for place, value in enumerate(hues)}
    return {cell: hues[words[cell]] % HUES for cell in specs}, {cell: turns[words[cell]] for cell in specs}


def dash_places(specs: Mapping[str, Any], lines: Axes, colour: str, chosen: str) -> dict[str, int]:
    """By the chosen axis, otherwise by everything that the colour does not tell."""
    axes = [chosen] if chosen in lines and chosen != colour else [axis for axis in lines if axis != colour]
    words = {cell: tuple(lines[axis][cell] for axis in axes) for cell in specs}
    places = in_order(words.values())
    return {cell: places[words[cell]] for cell in specs}


def label(cell: str, spec: Mapping[str, Any], lines: Axes, colour: str) -> str:
    ordered = sorted(lines, key=lambda axis: axis != colour)
    return " · ".join(lines[axis][cell] for axis in ordered) or name_of(spec)


def word(axes: Axes, axis: str, cell: str) -> str:
    return axes[axis][cell] if axis in axes else ""
