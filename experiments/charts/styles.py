"""How each cell is drawn: hue, dash and panel, by fixed rules or by an axis of the person's choice."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from experiments.labels.axes import (
    MAIN_AXES,
    NOT_THERE,
    Axes,
    Sources,
    drop_redundant_axes,
    flat_axis_values,
    follows_from,
    sort_axes,
)
from experiments.labels.names import method_name, method_slug
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
    axes = drop_redundant_axes(flat_axis_values(flat, sources))
    return {cell: style.line for cell, style in cell_styles(flat, sort_axes(axes, flat), StyleAxes()).items()}


def strategy_hues(flat: Mapping[str, Mapping[str, Any]], values: Mapping[str, str]) -> dict[str, int]:
    """Each strategy at its own hue; further values of one, and names whose hue is taken, at the next free one."""
    hues: dict[str, int] = {}
    first = {method_slug(row): cell for cell, row in reversed(list(flat.items()))}
    for cell in sorted(flat, key=lambda cell: first[method_slug(flat[cell])] != cell):
        hue = preferred_hue(method_slug(flat[cell]))
        free = [(hue + step) % HUES for step in range(HUES) if (hue + step) % HUES not in hues.values()]
        hues.setdefault(values[cell], free[0] if free else hue)
    return hues


def preferred_hue(strategy: str) -> int:
    """A name that is not in the fixed list keeps its hue too, whatever else the catalog holds."""
    return FIXED_HUES.index(strategy) if strategy in FIXED_HUES else zlib.crc32(strategy.encode()) % HUES


def first_positions(values: Iterable[Any]) -> dict[Any, int]:
    return {value: place for place, value in enumerate(dict.fromkeys(values))}


def word_positions(words: Mapping[str, str]) -> dict[str, int]:
    """Of each cell's value among those of its axis."""
    places = first_positions(words.values())
    return {cell: places[word] for cell, word in words.items()}


def dash_at(place: int) -> str:
    """Beyond eight colours the hues start again, with the next dash."""
    return list(DASHES)[place % len(DASHES)]


NO_AXIS = "-"
"""Chosen not to be used, where otherwise one would be chosen automatically."""
MOST_LINES_IN_PANEL = 6
"""More lines than this in a panel are a wall."""
PANEL_AXES = ("dataset", "local.optimizer", "model", "partition", "feature_noise", "hybrid.method")
"""What panels are of first, where there is a choice."""
MOST_AXES_IN_LABEL = 3


@dataclass(frozen=True)
class StyleAxes:
    """Axes by purpose; empty where the person has not chosen."""

    colour: str = ""
    dash: str = ""
    row: str = ""
    column: str = ""
    brief: bool = False
    """Labels do not name fields that follow from what they have named."""


@dataclass(frozen=True)
class CellStyle:
    """`colour` is what the hue stands for, `place` where its panel's row and column are among all."""

    line: LineStyle
    row: str
    column: str
    colour: str = ""
    place: tuple[int, int] = (0, 0)

    @property
    def panel(self) -> str:
        """All that its panel tells."""
        return " · ".join(word for word in (self.row, self.column) if word)

    @property
    def stacked_panel(self) -> tuple[str, str]:
        """Row and column where all panels are one below the other."""
        return "", self.panel

    @property
    def whole_label(self) -> str:
        """With what the panel tells, for charts without panels."""
        return " · ".join(dict.fromkeys(word for word in (self.line.label, self.row, self.column) if word))


def cell_styles(specs: Mapping[str, Mapping[str, Any]], axes: Axes, style_axes: StyleAxes) -> dict[str, CellStyle]:
    """An axis that gives the panel, and what follows from it, is named by the panel; others by the line's label."""
    panel = [axes[axis] for axis in (style_axes.row, style_axes.column) if axis in axes]
    lines = {axis: words for axis, words in axes.items() if not is_decided_by(words, panel)}
    colour = colour_axis(lines or axes, style_axes.colour)
    if style_axes.brief or len(lines) > MOST_AXES_IN_LABEL:
        lines = tell_once(lines, colour, panel)
    hues, turns = cell_hues(specs, lines or axes, colour)
    dashes = dash_positions(specs, lines, colour, style_axes.dash)
    rows, columns = (word_positions(axes.get(axis, {})) for axis in (style_axes.row, style_axes.column))
    return {
        cell: CellStyle(
            LineStyle(line_label(cell, spec, lines or axes, colour), hues[cell], dash_at(dashes[cell] + turns[cell])),
            axis_word(axes, style_axes.row, cell),
            axis_word(axes, style_axes.column, cell),
            axis_word(lines or axes, colour, cell) or method_name(spec),
            (rows.get(cell, 0), columns.get(cell, 0)),
        )
        for cell, spec in specs.items()
    }


def colour_axis(axes: Axes, chosen: str = "") -> str:
    """What competes has the colours, unless another axis was chosen; the data set only where nothing else varies."""
    if chosen in axes:
        return chosen
    rivals = [axis for axis in ("strategy", "app", "hybrid.method") if axis in axes]
    others = [axis for axis in axes if axis not in PANEL_AXES]
    return next(iter([*rivals, *others, *reversed(list(axes))]), "")


def tell_once(lines: Axes, colour: str, panel: Sequence[Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Without plain fields that follow from what the panel and the label's other words tell."""
    named: dict[str, Mapping[str, str]] = {}
    for axis in sorted(lines, key=lambda axis: (axis != colour, axis not in MAIN_AXES)):
        if axis == colour or axis in MAIN_AXES or not is_decided_by(lines[axis], [*panel, *named.values()]):
            named[axis] = lines[axis]
    return {axis: words for axis, words in lines.items() if axis in named}


def is_decided_by(words: Mapping[str, str], by: Sequence[Mapping[str, str]]) -> bool:
    """Whether those axes together leave no choice of this one; nothing is decided by none."""
    return bool(by) and follows_from(words, {cell: "\n".join(each[cell] for each in by) for cell in words})


def add_panels(axes: Axes, style_axes: StyleAxes, lines: int) -> StyleAxes:
    """With panels where nobody chose any and there are too many lines for one.

    By the fewest panels that hold no more lines than can be told apart, optimizers first; data sets never
    share one. Where nothing but the colours' axis varies, each value has a panel, in which the others are grey.
    """
    if style_axes.column or style_axes.row or lines <= MOST_LINES_IN_PANEL:
        return style_axes
    colour = colour_axis(axes, style_axes.colour)
    free = [axis for axis, words in axes.items() if axis != colour and NOT_THERE not in words.values()]
    free.sort(key=lambda axis: PANEL_AXES.index(axis) if axis in PANEL_AXES else len(PANEL_AXES))
    choices: list[tuple[str, ...]] = [*((axis,) for axis in free), *combinations(free, 2)]
    if "dataset" in free:
        choices = [chosen for chosen in choices if "dataset" in chosen]
    if not choices:
        return replace(style_axes, column=colour)
    *row, column = min(choices, key=lambda chosen: panel_cost(axes, chosen))
    return replace(style_axes, column=column, row=row[0] if row else "")


def add_setting_panels(axes: Axes, style_axes: StyleAxes) -> StyleAxes:
    """For charts whose panels nobody chooses: data sets never share one, nor do more lines than can be told apart
    where an axis that is not the colours' parts them. Cells that are points of one line are equal in all axes.
    """
    plain = replace(style_axes, row="", column="")
    lines: dict[tuple[str, ...], str] = {}
    for cell in next(iter(axes.values()), {}):
        lines.setdefault(tuple(words[cell] for words in axes.values()), cell)
    one_each = {axis: {cell: words[cell] for cell in lines.values()} for axis, words in axes.items()}
    panels = add_panels(one_each, plain, len(lines))
    if panels.column and panels.column != colour_axis(axes, style_axes.colour):
        return panels
    return replace(plain, column="dataset" if "dataset" in axes else "")


def panel_cost(axes: Axes, chosen: Sequence[str]) -> tuple[int, int]:
    """How many lines a panel would have too many, and how many panels there would be."""
    lines = Counter(tuple(axes[axis][cell] for axis in chosen) for cell in axes[chosen[0]])
    return max(0, max(lines.values()) - MOST_LINES_IN_PANEL), len(lines)


def cell_hues(
    specs: Mapping[str, Mapping[str, Any]], lines: Axes, colour: str
) -> tuple[dict[str, int], dict[str, int]]:
    """The hue of each cell, and how often the hues had been used up before it: the next dash tells those apart."""
    words = lines.get(colour) or {cell: method_slug(spec) for cell, spec in specs.items()}
    fixed = colour in ("", "strategy")
    hues = strategy_hues(specs, words) if fixed else first_positions(words.values())
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
