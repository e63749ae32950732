"""The cells that a comparison is about, and the axes in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.http import QueryDict

from experiments.charts.styles import CellStyle, add_panels, cell_styles
from experiments.compare.choices import Choices, choices_of
from experiments.compare.selectors.cells import SelectedCell, SelectedRun, selected_cells, selected_studies
from experiments.labels.axes import (
    COMPONENT_KINDS,
    Axes,
    axis_of,
    axis_title,
    axis_values,
    drop_redundant_axes,
    flat_axis_values,
    method_name,
)
from experiments.labels.metrics import sort_metric_names
from experiments.models import RunState, Study
from experiments.statistics.curves import metric_names
from workers.spec import is_app
from workers.spec.paths import varying_flat_paths

MOST_SAMPLED_RUNS = 12


@dataclass(frozen=True)
class FacetValue:
    word: str
    cells: int
    chosen: bool


@dataclass(frozen=True)
class Facet:
    """An axis that varies among everything selected, with its values."""

    axis: str
    title: str
    values: tuple[FacetValue, ...]


@dataclass(frozen=True)
class Selection:
    """`cells` after the facets; `axes` are those in which these cells still differ, in words."""

    studies: tuple[Study, ...]
    cells: tuple[SelectedCell, ...]
    axes: Axes
    facets: tuple[Facet, ...]

    @cached_property
    def specs(self) -> dict[str, dict[str, Any]]:
        return {cell.key: cell.spec for cell in self.cells}

    @cached_property
    def runs(self) -> dict[int, SelectedRun]:
        return {run.pk: run for cell in self.cells for run in cell.runs}

    @property
    def active(self) -> int:
        return sum(run.state in (RunState.QUEUED, RunState.RUNNING) for run in self.runs.values())

    @property
    def ticked_values(self) -> list[str]:
        """The values that were ticked, of those that there are."""
        return [value.word for facet in self.facets for value in facet.values if value.chosen]

    @cached_property
    def metrics(self) -> list[str]:
        """Those of one run of each strategy or app, which may have its own."""
        runs = {method_name(cell.spec): cell.runs[0].pk for cell in reversed(self.cells)}
        return sort_metric_names(metric_names(runs=list(runs.values())[:MOST_SAMPLED_RUNS]))

    @cached_property
    def flat(self) -> dict[str, dict[str, Any]]:
        return {cell.key: cell.flat for cell in self.cells}

    @cached_property
    def paths(self) -> list[str]:
        """Single fields that vary: parameters of a component, too."""
        return varying_flat_paths(list(self.flat.values()))

    def cell_styles(self, choices: Choices) -> dict[str, CellStyle]:
        return cell_styles(self.specs, self.axes, add_panels(self.axes, choices.style_axes, len(self.cells)))

    def styles_without_panels(self, choices: Choices) -> dict[str, CellStyle]:
        """For charts without panels: what a panel would tell is told by dash and label."""
        return cell_styles(self.specs, self.axes, replace(choices.style_axes, row="", column=""))

    @cached_property
    def fields(self) -> dict[str, str]:
        """What a value can be drawn against: numeric fields first, then axes with words."""
        numeric = [path for path in self.paths if is_numeric_field(self.flat, path)]
        return {each: axis_title(each) for each in dict.fromkeys([*numeric, *self.axes])}

    def field_values(self, field: str) -> dict[str, Any]:
        """Each cell's value there; cells that have none are missing."""
        if field in self.paths and field not in COMPONENT_KINDS:
            return {cell: row[field] for cell, row in self.flat.items() if row.get(field) is not None}
        return dict(self.axes.get(field, {}))

    def axes_without(self, *fields: str) -> dict[str, dict[str, str]]:
        """Of the cells that have these fields, the axes that are left when a chart's own axes tell the fields."""
        cells = [cell for cell in self.cells if all(cell.key in self.field_values(field) for field in fields)]
        if all(axis_of(field) == field for field in fields):
            within = {axis: {cell.key: words[cell.key] for cell in cells} for axis, words in self.axes.items()}
        else:
            specs = {cell.key: spec_without(cell.spec, fields) for cell in cells}
            within = axis_values(specs, {cell.key: cell.source for cell in cells})
        return {axis: dict(words) for axis, words in varying_axes(within).items() if axis not in fields}


def is_numeric_field(flat: Mapping[str, Mapping[str, Any]], path: str) -> bool:
    values = [row[path] for row in flat.values() if row.get(path) is not None]
    plain = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return plain and len(set(values)) > 1


def spec_without(spec: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    remaining: dict[str, Any] = {}
    for key, value in spec.items():
        inner = [field.removeprefix(f"{key}.") for field in fields if field.startswith(f"{key}.")]
        if key not in fields:
            remaining[key] = spec_without(value, inner) if isinstance(value, Mapping) and inner else value
    return remaining


def requested_selection(query: QueryDict) -> tuple[Selection, Choices]:
    """Where the address names no metric, accuracy is meant; of apps that measure none, what they measure first."""
    choices = choices_of(query)
    selection = selection_of(choices)
    if not query.get("metric") and any(is_app(cell.spec) for cell in selection.cells):
        names = selection.metrics
        choices = replace(choices, metric=next(iter(names), choices.metric))
    return selection, choices


def selection_of(choices: Choices) -> Selection:
    query = choices.selection_query
    if query.empty:
        return Selection((), (), {}, ())
    studies = selected_studies(studies=query.studies, tags=query.tags)
    cells = selected_cells(studies=studies, runs=query.runs)
    flat, sources = {cell.key: cell.flat for cell in cells}, {cell.key: cell.source for cell in cells}
    axes = drop_redundant_axes(flat_axis_values(flat, sources))
    only: dict[str, set[str]] = {}
    for axis, word in query.only:
        if axis in axes and word in axes[axis].values():
            only.setdefault(axis, set()).add(word)
    kept_cells = tuple(cell for cell in cells if all(axes[axis][cell.key] in words for axis, words in only.items()))
    return Selection(tuple(studies), kept_cells, narrow_axes(axes, kept_cells), facets_of(axes, only))


def narrow_axes(axes: Axes, cells: tuple[SelectedCell, ...]) -> dict[str, dict[str, str]]:
    return varying_axes({axis: {cell.key: words[cell.key] for cell in cells} for axis, words in axes.items()})


def varying_axes(axes: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {axis: words for axis, words in axes.items() if len(set(words.values())) > 1}


def facets_of(axes: Axes, only: Mapping[str, set[str]]) -> tuple[Facet, ...]:
    facets = []
    for axis, words in axes.items():
        counts: dict[str, int] = {}
        for word in words.values():
            counts[word] = counts.get(word, 0) + 1
        values = tuple(FacetValue(word, count, word in only.get(axis, ())) for word, count in counts.items())
        facets.append(Facet(axis, axis_title(axis), values))
    return tuple(facets)
