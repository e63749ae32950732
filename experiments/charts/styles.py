"""Hue and dash of every line: a fixed hue per strategy, a dash per value of everything else that varies."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.charts.labels import Sources, axes_in, told_once
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
