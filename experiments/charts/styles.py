"""How each cell is drawn: hue, dash and panel, by fixed rules or by an axis of the person's choice."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.labels.axes import (
    MAIN_AXES,
    NOT_THERE,
    Axes,
    Sources,
    drop_redundant_axes,
    flat_axis_values,
    follows_from,
    method_name,
)
from workers.spec import flatten

HUES = 8
DASHES = {
    "solid": "",
    "dash": "6 4",
    "dot": "2 3",
    "dashdot": "6 3 2 3",
    "longdash": "9 4",
    "longdashdot": "9 3 2 3",
}
FIXED_HUES = ("fedavg", "fedprox", "scaffold", "fednova", "fedadam", "fedyogi", "fedavgm", "fedadagrad")


@dataclass(frozen=True)
class LineStyle:
    """How one cell is drawn and called; `hue` is an index into the theme's series colours."""

    label: str
    hue: int
    dash: str

    @property
    def svg_dash(self) -> str:
        return DASHES[self.dash]


def line_styles(specs: Mapping[str, Mapping[str, Any]], sources: Sources | None = None) -> dict[str, LineStyle]:
    """A style per cell, from the cells' specs: the first axis gives the hue, all the others the dash."""
    return flat_line_styles({cell: flatten(spec) for cell, spec in specs.items()}, sources)


def flat_line_styles(flat: Mapping[str, Mapping[str, Any]], sources: Sources | None = None) -> dict[str, LineStyle]:
    """The same for specs that are flat already."""
    first, *others = drop_redundant_axes(flat_axis_values(flat, sources)).items() or [
        ("strategy", {cell: method_name(row) for cell, row in flat.items()})
    ]
    colour = first[1]
    rest = {cell: tuple(words[cell] for _, words in others) for cell in flat}
    hues = strategy_hues(flat, colour) if first[0] == "strategy" else first_positions(colour.values())
    dashes, turns = first_positions(rest.values()), {value: place // HUES for place, value in enumerate(hues)}
    return {
        cell: LineStyle(
            joined_words([colour[cell], *rest[cell]]),
            hues[colour[cell]] % HUES,
            dash_at(dashes[rest[cell]] + turns[colour[cell]]),
        )
        for cell in flat
    }


def strategy_hues(flat: Mapping[str, Mapping[str, Any]], values: Mapping[str, str]) -> dict[str, int]:
    """Each strategy at its own hue; further values of one, and names whose hue is taken, at the next free one."""
    hues: dict[str, int] = {}
    first = {method_name(row): cell for cell, row in reversed(list(flat.items()))}
    for cell in sorted(flat, key=lambda cell: first[method_name(flat[cell])] != cell):
        hue = preferred_hue(method_name(flat[cell]))
        free = [(hue + step) % HUES for step in range(HUES) if (hue + step) % HUES not in hues.values()]
        hues.setdefault(values[cell], free[0] if free else hue)
    return hues


def preferred_hue(strategy: str) -> int:
    """A name that is not in the fixed list keeps its hue too, whatever else the catalog holds."""
    return FIXED_HUES.index(strategy) if strategy in FIXED_HUES else zlib.crc32(strategy.encode()) % HUES


def first_positions(values: Iterable[Any]) -> dict[Any, int]:
    return {value: place for place, value in enumerate(dict.fromkeys(values))}


def dash_at(place: int) -> str:
    """Beyond eight colours the hues start again, with the next dash."""
    return list(DASHES)[place % len(DASHES)]


NO_AXIS = "-"
"""Chosen not to be used, where otherwise one would be chosen automatically."""
MOST_LINES_IN_PANEL = 8
"""More lines than this in a panel are a wall."""
FEW_VALUES = 8


@dataclass(frozen=True)
class StyleAxes:
    """Axes by purpose; empty where the person has not chosen."""

    colour: str = ""
    dash: str = ""
    row: str = ""
    column: str = ""
    brief: bool = False
    """Labels do not name fields that follow from what the colour tells."""


@dataclass(frozen=True)
class CellStyle:
    """`colour` is what the hue stands for."""

    line: LineStyle
    row: str
    column: str
    colour: str = ""

    @property
    def stacked_panel(self) -> tuple[str, str]:
        """Row and column where all panels are one below the other."""
        return "", " · ".join(word for word in (self.row, self.column) if word)

    @property
    def whole_label(self) -> str:
        """With what the panel tells, for charts without panels."""
        return " · ".join(word for word in (self.line.label, self.row, self.column) if word)


def cell_styles(specs: Mapping[str, Mapping[str, Any]], axes: Axes, style_axes: StyleAxes) -> dict[str, CellStyle]:
    """An axis that gives the panel, and what follows from it, is named by the panel; others by the line's label."""
    panel = [axes[axis] for axis in (style_axes.row, style_axes.column) if axis in axes]
    lines = {axis: words for axis, words in axes.items() if not is_decided_by(words, panel)}
    colour = style_axes.colour if style_axes.colour in lines else next(iter(lines), "")
    if style_axes.brief and colour in lines:
        lines = {
            axis: words
            for axis, words in lines.items()
            if axis == colour or axis in MAIN_AXES or not is_decided_by(words, [lines[colour]])
        }
    hues, turns = cell_hues(specs, lines, colour)
    dashes = dash_positions(specs, lines, colour, style_axes.dash)
    return {
        cell: CellStyle(
            LineStyle(line_label(cell, spec, lines, colour), hues[cell], dash_at(dashes[cell] + turns[cell])),
            axis_word(axes, style_axes.row, cell),
            axis_word(axes, style_axes.column, cell),
            axis_word(lines, colour, cell) or method_name(spec),
        )
        for cell, spec in specs.items()
    }


def is_decided_by(words: Mapping[str, str], by: Sequence[Mapping[str, str]]) -> bool:
    """Whether those axes together leave no choice of this one; nothing is decided by none."""
    return bool(by) and follows_from(words, {cell: "\n".join(each[cell] for each in by) for cell in words})


def add_panels(axes: Axes, style_axes: StyleAxes, lines: int) -> StyleAxes:
    """With panels where nobody chose any and there are too many lines for one: by axes with few values.

    Where even then two lines of a panel would look the same, what gave the colour gives the rows, and the axis with the
    most values has the colours.
    """
    colour = style_axes.colour or next(iter(axes), "")
    sizes = {axis: len(set(words.values())) for axis, words in axes.items()}
    used = {colour, style_axes.dash, style_axes.row, style_axes.column}
    everywhere = {axis for axis, words in axes.items() if NOT_THERE not in words.values()}
    free = sorted((size, axis) for axis, size in sizes.items() if axis in everywhere - used and size <= FEW_VALUES)
    if style_axes.column or style_axes.row or lines <= MOST_LINES_IN_PANEL:
        return style_axes
    column, *others = [axis for _, axis in reversed(free)] or [""]
    crowded = others and lines / sizes[column] > MOST_LINES_IN_PANEL
    with_panels = replace(style_axes, column=column, row=others[-1] if crowded else "")
    rest = [axis for axis in axes if axis not in {colour, with_panels.row, with_panels.column}]
    alike = len(set(zip(*(axes[axis].values() for axis in rest), strict=True))) > len(DASHES) if rest else False
    if alike and not (style_axes.colour or style_axes.dash or with_panels.row) and sizes[colour] <= FEW_VALUES:
        return replace(with_panels, row=colour, colour=max(rest, key=lambda axis: sizes[axis]))
    return with_panels


def cell_hues(
    specs: Mapping[str, Mapping[str, Any]], lines: Axes, colour: str
) -> tuple[dict[str, int], dict[str, int]]:
    """The hue of each cell, and how often the hues had been used up before it: the next dash tells those apart."""
    words = lines.get(colour) or {cell: method_name(spec) for cell, spec in specs.items()}
    fixed = colour in ("", "strategy")
    hues = strategy_hues(specs, words) if fixed else first_positions(words[cell] for cell in specs)
    turns = {value: place // HUES for place, value in enumerate(hues)}
    return {cell: hues[words[cell]] % HUES for cell in specs}, {cell: turns[words[cell]] for cell in specs}


def dash_positions(specs: Mapping[str, Any], lines: Axes, colour: str, chosen: str) -> dict[str, int]:
    """By the chosen axis, otherwise by everything that the colour does not tell."""
    axes = [chosen] if chosen in lines and chosen != colour else [axis for axis in lines if axis != colour]
    words = {cell: tuple(lines[axis][cell] for axis in axes) for cell in specs}
    places = first_positions(words.values())
    return {cell: places[words[cell]] for cell in specs}


def line_label(cell: str, spec: Mapping[str, Any], lines: Axes, colour: str) -> str:
    ordered = sorted(lines, key=lambda axis: axis != colour)
    return joined_words(lines[axis][cell] for axis in ordered) or method_name(spec)


def joined_words(words: Iterable[str]) -> str:
    """Without those of fields that the cell does not have."""
    return " · ".join(word for word in words if word != NOT_THERE)


def axis_word(axes: Axes, axis: str, cell: str) -> str:
    return axes[axis][cell] if axis in axes else ""
