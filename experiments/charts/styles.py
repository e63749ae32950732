"""How each cell is drawn: hue, dash and panel, by fixed rules or by an axis of the person's choice."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.labels.axes import MAIN, Sources, axes_in, follows, told_once
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
FIXED = ("fedavg", "fedprox", "scaffold", "fednova", "fedadam", "fedyogi", "fedavgm", "fedadagrad")


@dataclass(frozen=True)
class Style:
    """How one cell is drawn and called; `hue` is an index into the theme's series colours."""

    label: str
    hue: int
    dash: str

    @property
    def svg_dash(self) -> str:
        return DASHES[self.dash]


def styles(specs: Mapping[str, Mapping[str, Any]], sources: Sources | None = None) -> dict[str, Style]:
    """A style per cell, from the cells' specs: the first axis gives the hue, all the others the dash."""
    return styles_in({cell: flatten(spec) for cell, spec in specs.items()}, sources)


def styles_in(flat: Mapping[str, Mapping[str, Any]], sources: Sources | None = None) -> dict[str, Style]:
    """The same for specs that are flat already."""
    first, *others = told_once(axes_in(flat, sources)).items() or [
        ("strategy", {cell: name_of(row) for cell, row in flat.items()})
    ]
    colour = first[1]
    rest = {cell: tuple(words[cell] for _, words in others) for cell in flat}
    hues = strategy_hues(flat, colour) if first[0] == "strategy" else in_order(colour.values())
    dashes, turns = in_order(rest.values()), {value: place // HUES for place, value in enumerate(hues)}
    return {
        cell: Style(
            " · ".join([colour[cell], *rest[cell]]),
            hues[colour[cell]] % HUES,
            dash(dashes[rest[cell]] + turns[colour[cell]]),
        )
        for cell in flat
    }


def name_of(spec: Mapping[str, Any]) -> str:
    """The strategy of a spec, be it flat or not."""
    strategy = spec["strategy"]
    return str(strategy["name"] if isinstance(strategy, Mapping) else strategy)


def strategy_hues(flat: Mapping[str, Mapping[str, Any]], values: Mapping[str, str]) -> dict[str, int]:
    """Each strategy at its own hue; further values of one, and names whose hue is taken, at the next free one."""
    given: dict[str, int] = {}
    first = {name_of(row): cell for cell, row in reversed(list(flat.items()))}
    for cell in sorted(flat, key=lambda cell: first[name_of(flat[cell])] != cell):
        hue = wanted_hue(name_of(flat[cell]))
        free = [(hue + step) % HUES for step in range(HUES) if (hue + step) % HUES not in given.values()]
        given.setdefault(values[cell], free[0] if free else hue)
    return given


def wanted_hue(strategy: str) -> int:
    """A name that is not in the fixed list keeps its hue too, whatever else the catalog holds."""
    return FIXED.index(strategy) if strategy in FIXED else zlib.crc32(strategy.encode()) % HUES


def in_order(values: Iterable[Any]) -> dict[Any, int]:
    return {value: place for place, value in enumerate(dict.fromkeys(values))}


def dash(place: int) -> str:
    """Beyond eight colours the hues start again, with the next dash."""
    return list(DASHES)[place % len(DASHES)]


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
