"""The cells that a comparison is about, and the axes in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from experiments.charts.styles import Placed, placed, uncrowded
from experiments.compare.choices import Choices
from experiments.compare.selectors.cells import PickedCell, PickedRun, cells_picked, studies_picked
from experiments.labels.axes import COMPONENTS, axes_in, axis_of, axis_title, axis_values, told_once
from experiments.models import RunState, Study
from workers.spec.paths import varying_in


@dataclass(frozen=True)
class FacetValue:
    word: str
    cells: int
    chosen: bool


@dataclass(frozen=True)
class Facet:
    """An axis that varies among everything picked, with its values."""

    axis: str
    title: str
    values: tuple[FacetValue, ...]


@dataclass(frozen=True)
class Picked:
    """`cells` after the facets; `axes` are those in which these cells still differ, in words."""

    studies: tuple[Study, ...]
    cells: tuple[PickedCell, ...]
    axes: Mapping[str, Mapping[str, str]]
    facets: tuple[Facet, ...]

    @cached_property
    def specs(self) -> dict[str, dict[str, Any]]:
        return {cell.key: cell.spec for cell in self.cells}

    @cached_property
    def runs(self) -> dict[int, PickedRun]:
        return {run.pk: run for cell in self.cells for run in cell.runs}

    @property
    def active(self) -> int:
        return sum(run.state in (RunState.QUEUED, RunState.RUNNING) for run in self.runs.values())

    @property
    def narrowed(self) -> list[str]:
        """The values that were ticked, of those that there are."""
        return [value.word for facet in self.facets for value in facet.values if value.chosen]

    @cached_property
    def flat(self) -> dict[str, dict[str, Any]]:
        return {cell.key: cell.flat for cell in self.cells}

    @cached_property
    def paths(self) -> list[str]:
        """Single fields that vary: parameters of a component, too."""
        return varying_in(list(self.flat.values()))

    def places(self, choices: Choices) -> dict[str, Placed]:
        return placed(self.specs, self.axes, uncrowded(self.axes, choices.placing, len(self.cells)))

    def flat_places(self, choices: Choices) -> dict[str, Placed]:
        """For charts without panels: what a panel would tell is told by dash and label."""
        return placed(self.specs, self.axes, replace(choices.placing, row="", column=""))

    @cached_property
    def fields(self) -> dict[str, str]:
        """What a value can be drawn against: numeric fields first, then axes with words."""
        numeric = [path for path in self.paths if numbers_at(self.flat, path)]
        return {each: axis_title(each) for each in dict.fromkeys([*numeric, *self.axes])}

    def on_field(self, field: str) -> dict[str, Any]:
        """Each cell's value there; cells that have none are missing."""
        if field in self.paths and field not in COMPONENTS:
            return {cell: row[field] for cell, row in self.flat.items() if row.get(field) is not None}
        return dict(self.axes.get(field, {}))

    def axes_without(self, *fields: str) -> dict[str, dict[str, str]]:
        """Of the cells that have these fields, the axes that are left when a chart's own axes tell the fields."""
        cells = [cell for cell in self.cells if all(cell.key in self.on_field(field) for field in fields)]
        if all(axis_of(field) == field for field in fields):
            within = {axis: {cell.key: words[cell.key] for cell in cells} for axis, words in self.axes.items()}
        else:
            specs = {cell.key: without(cell.spec, fields) for cell in cells}
            within = axis_values(specs, {cell.key: cell.source for cell in cells})
        return {axis: dict(words) for axis, words in varying(within).items() if axis not in fields}


def numbers_at(flat: Mapping[str, Mapping[str, Any]], path: str) -> bool:
    values = [row[path] for row in flat.values() if row.get(path) is not None]
    plain = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return plain and len(set(values)) > 1


def without(spec: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in spec.items():
        inner = [field.removeprefix(f"{key}.") for field in fields if field.startswith(f"{key}.")]
        if key not in fields:
            kept[key] = without(value, inner) if isinstance(value, Mapping) and inner else value
    return kept


def picked(choices: Choices) -> Picked:
    pick = choices.pick
    if pick.empty:
        return Picked((), (), {}, ())
    studies = studies_picked(studies=pick.studies, tags=pick.tags)
    cells = cells_picked(studies=studies, runs=pick.runs)
    flat, sources = {cell.key: cell.flat for cell in cells}, {cell.key: cell.source for cell in cells}
    axes = told_once(axes_in(flat, sources))
    only: dict[str, set[str]] = {}
    for axis, word in pick.only:
        if axis in axes and word in axes[axis].values():
            only.setdefault(axis, set()).add(word)
    kept = tuple(cell for cell in cells if all(axes[axis][cell.key] in words for axis, words in only.items()))
    return Picked(tuple(studies), kept, narrowed(axes, kept), facets_of(axes, only))


def narrowed(axes: Mapping[str, Mapping[str, str]], cells: tuple[PickedCell, ...]) -> dict[str, dict[str, str]]:
    return varying({axis: {cell.key: words[cell.key] for cell in cells} for axis, words in axes.items()})


def varying(axes: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {axis: words for axis, words in axes.items() if len(set(words.values())) > 1}


def facets_of(axes: Mapping[str, Mapping[str, str]], only: Mapping[str, set[str]]) -> tuple[Facet, ...]:
    found = []
    for axis, words in axes.items():
        counts: dict[str, int] = {}
        for word in words.values():
            counts[word] = counts.get(word, 0) + 1
        values = tuple(FacetValue(word, count, word in only.get(axis, ())) for word, count in counts.items())
        found.append(Facet(axis, axis_title(axis), values))
    return tuple(found)
