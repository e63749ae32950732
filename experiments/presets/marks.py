"""Printed numbers where charts can show them: on a cell's curve, or beside one value of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from experiments.compare.charts.published_marks import Diamond
from experiments.compare.charts.values import Wanted
from experiments.presets import wording
from experiments.presets.comparison import leaves, likeness, matches
from experiments.presets.preset import At, Final, Max, Preset, Published, Reach

Spec = Mapping[str, Any]
Marks = dict[str, list[Published]]


def marks_of(preset: Preset, specs: Mapping[str, Spec], reference: Callable[[], Sequence[Spec]]) -> Marks:
    """Of each cell the numbers printed about it; `reference` has the full scale's specs, asked for only where several
    cells match: then the one most like it counts, as in the comparison."""
    found: Marks = {}
    for each in preset.published:
        if each.against is None and (cell := cell_of(each.match, specs, reference)):
            found.setdefault(cell, []).append(each)
    return found


def cell_of(match: Spec, specs: Mapping[str, Spec], reference: Callable[[], Sequence[Spec]]) -> str | None:
    alike = [cell for cell, spec in specs.items() if matches(spec, match)]
    if len(alike) < 2:
        return next(iter(alike), None)
    wanted = next((leaves(spec) for spec in reference() if matches(spec, match)), {})
    return max(alike, key=lambda cell: likeness(specs[cell], wanted))


def on_curve(printed: Iterable[Published], metric: str, rounds: int) -> list[Diamond]:
    """At their rounds; what was printed of the end stands at the run's own last round."""
    found = []
    for each in printed:
        reading = each.reading
        if isinstance(reading, At) and reading.metric == metric and reading.round <= rounds:
            found.append(diamond(each, reading.round))
        if isinstance(reading, Final) and reading.metric == metric and reading.of == "cell":
            found.append(diamond(each, rounds))
    return found


def of_value(printed: Iterable[Published], metric: str, wanted: Wanted) -> Diamond | None:
    """The counterpart of the one number that a chart shows of a cell."""
    return next((diamond(each) for each in printed if stands_for(each, metric, wanted)), None)


def stands_for(published: Published, metric: str, wanted: Wanted) -> bool:
    match published.reading:
        case Final(metric=own, of="cell"):
            return own == metric and wanted.kind == "final"
        case Max(metric=own):
            return own == metric and wanted.kind == "best"
        case At(metric=own, round=number):
            return own == metric and wanted.kind == "at" and number == max(wanted.at, default=0)
        case Reach(metric=own, target=target):
            return own == metric and wanted.kind == "rounds" and wanted.target == 100 * target
    return False


def diamond(published: Published, x: float | None = None) -> Diamond:
    return Diamond(published.value, f"{wording.printed(published)} {wording.unit(published)}".strip(), x)
