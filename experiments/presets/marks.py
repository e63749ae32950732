"""Printed numbers where charts can show them: on a cell's curve, or beside one value of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from experiments.compare.charts.published_marks import PublishedMark
from experiments.compare.charts.values import ValueChoice
from experiments.presets import wording
from experiments.presets.comparison import spec_leaves, spec_likeness, spec_matches
from experiments.presets.preset import At, Final, Max, Preset, Published, Reach

Spec = Mapping[str, Any]
PublishedByCell = dict[str, list[Published]]


def published_by_cell(
    preset: Preset, specs: Mapping[str, Spec], reference: Callable[[], Sequence[Spec]]
) -> PublishedByCell:
    """Of each cell the numbers printed about it; `reference` has the full scale's specs, asked for only where several
    cells match: then the one most like it counts, as in the comparison."""
    by_cell: PublishedByCell = {}
    for each in preset.published:
        if each.against is None and (cell := matching_cell(each.match, specs, reference)):
            by_cell.setdefault(cell, []).append(each)
    return by_cell


def matching_cell(match: Spec, specs: Mapping[str, Spec], reference: Callable[[], Sequence[Spec]]) -> str | None:
    candidates = [cell for cell, spec in specs.items() if spec_matches(spec, match)]
    if len(candidates) < 2:
        return next(iter(candidates), None)
    expected = next((spec_leaves(spec) for spec in reference() if spec_matches(spec, match)), {})
    return max(candidates, key=lambda cell: spec_likeness(specs[cell], expected))


def marks_on_curve(printed: Iterable[Published], metric: str, rounds: int) -> list[PublishedMark]:
    """At their rounds; what was printed of the end stands at the run's own last round."""
    marks = []
    for each in printed:
        reading = each.reading
        if isinstance(reading, At) and reading.metric == metric and reading.round <= rounds:
            marks.append(published_mark(each, reading.round))
        if isinstance(reading, Final) and reading.metric == metric and reading.of == "cell":
            marks.append(published_mark(each, rounds))
    return marks


def mark_of_value(printed: Iterable[Published], metric: str, choice: ValueChoice) -> PublishedMark | None:
    """The counterpart of the one number that a chart shows of a cell."""
    return next((published_mark(each) for each in printed if is_counterpart(each, metric, choice)), None)


def is_counterpart(published: Published, metric: str, choice: ValueChoice) -> bool:
    match published.reading:
        case Final(metric=own, of="cell"):
            return own == metric and choice.kind == "final"
        case Max(metric=own):
            return own == metric and choice.kind == "best"
        case At(metric=own, round=number):
            return own == metric and choice.kind == "at" and number == max(choice.at, default=0)
        case Reach(metric=own, target=target):
            return own == metric and choice.kind == "rounds" and choice.target == 100 * target
    return False


def published_mark(published: Published, x: float | None = None) -> PublishedMark:
    return PublishedMark(
        published.value, f"{wording.published_text(published)} {wording.unit_text(published)}".strip(), x
    )
