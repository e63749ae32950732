"""The cells that a comparison is about, and the axes in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.http import QueryDict

from experiments.charts.styles import (
    CellStyle,
    add_panels,
    add_setting_panels,
    cell_styles,
    first_positions,
    is_decided_by,
)
from experiments.compare.choices import Choices, Labels, choices_of
from experiments.compare.selectors.cells import SelectedCell, SelectedRun, selected_cells, selected_studies
from experiments.labels.axes import Axes, axis_of, axis_values, drop_redundant_axes, flat_axis_values, sort_axes
from experiments.labels.metrics import sort_metric_names
from experiments.labels.names import COMPONENT_KINDS, axis_title, method_slug
from experiments.models import RunState, Study
from experiments.statistics.curves import metric_names
from workers.spec import is_app
from workers.spec.paths import varying_flat_paths

MOST_SAMPLED_RUNS = 12


@dataclass(frozen=True)
class FacetValue:
    """`key` stands in addresses, `word` is what people read; `label` where it was renamed."""

    key: str
    word: str
    cells: int
    chosen: bool
    label: str = ""


@dataclass(frozen=True)
class Facet:
    """An axis that varies among everything selected, with its values."""

    axis: str
    title: str
    values: tuple[FacetValue, ...]


def metrics_kind(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """What decides which metrics a run has: its strategy or app, attack and privacy, and where it is evaluated."""
    optional = [(spec.get(path) or {}).get("name", "") for path in ("attack", "privacy")]
    return (method_slug(spec), *optional, spec.get("evaluation", {}).get("on", ""))


@dataclass(frozen=True)
class Selection:
    """`cells` after the facets; `axes` are those in which these cells still differ, as people read them.

    `slugs` are the same for addresses, REST and files; `decided` has what varies with the data set or the app alone.
    """

    studies: tuple[Study, ...]
    cells: tuple[SelectedCell, ...]
    axes: Axes
    facets: tuple[Facet, ...]
    slugs: Axes = field(default_factory=dict)
    decided: Axes = field(default_factory=dict)

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
        """Those of one run of each kind, which may have its own."""
        runs = {metrics_kind(cell.spec): cell.runs[0].pk for cell in reversed(self.cells)}
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

    def styles_by_setting(self, choices: Choices) -> dict[str, CellStyle]:
        """For charts with a panel for each data set, and for more settings where lines are many."""
        return cell_styles(self.specs, self.axes, add_setting_panels(self.axes, choices.style_axes))

    def styles_by_data_set(self, choices: Choices) -> dict[str, CellStyle]:
        """For charts with a panel for each data set and no other: the rest is told by dash and label."""
        column = "dataset" if "dataset" in self.axes else ""
        return cell_styles(self.specs, self.axes, replace(choices.style_axes, row="", column=column))

    @cached_property
    def numeric_fields(self) -> list[str]:
        """What people study first."""
        numeric = [path for path in self.paths if is_numeric_field(self.flat, path)]
        return sorted(numeric, key=lambda path: (field_interest(path), path))

    @cached_property
    def fields(self) -> dict[str, str]:
        """What a value can be drawn against: numeric fields first, then axes with words."""
        return {each: axis_title(each) for each in dict.fromkeys([*self.numeric_fields, *self.axes])}

    def default_field(self, compared: str) -> str:
        """Where nobody has chosen: a number that varies while data set, model and method are the same; otherwise the
        first axis that does not compete."""
        fixed = [self.axes[axis] for axis in ("dataset", "model", "app", compared) if axis in self.axes]
        for path in self.numeric_fields:
            values = {cell: str(row.get(path)) for cell, row in self.flat.items()}
            if axis_of(path) != compared and not is_decided_by(values, fixed):
                return path
        return next((axis for axis in self.axes if axis != compared), next(iter(self.fields), ""))

    def field_values(self, field: str) -> dict[str, Any]:
        """Each cell's value there; cells that have none are missing."""
        if field in self.paths and field not in COMPONENT_KINDS:
            return {cell: row[field] for cell, row in self.flat.items() if row.get(field) is not None}
        return dict(self.axes.get(field, {}))

    def word_of(self, axis: str, slug: str) -> str:
        """What people read where an address has the slug; addresses of before had words."""
        words, slugs = self.axes.get(axis, {}), self.slugs.get(axis, {})
        return next((words[cell] for cell in words if slugs[cell] == slug), slug)

    def slug_of(self, axis: str, word: str) -> str:
        words, slugs = self.axes.get(axis, {}), self.slugs.get(axis, {})
        return next((slugs[cell] for cell in words if words[cell] == word), word)

    def axes_without(self, *fields: str) -> dict[str, dict[str, str]]:
        """Of the cells that have these fields, the axes that are left when a chart's own axes tell the fields."""
        values = [self.field_values(each) for each in fields]
        specs = {cell.key: cell.spec for cell in self.cells if all(cell.key in each for each in values)}
        within = {
            axis: {cell: word for cell, word in words.items() if cell in specs} for axis, words in self.axes.items()
        }
        inside = [field for field in fields if axis_of(field) != field]
        if inside:
            words = axis_values({cell: spec_without(spec, inside) for cell, spec in specs.items()})
            own = {axis_of(field) for field in inside}
            within = {axis: words.get(axis, {}) if axis in own else within[axis] for axis in within}
        return {axis: words for axis, words in varying_axes(within).items() if axis not in fields}


FIELDS_OF_INTEREST = (
    *("hybrid.ratio", "partition.alpha", "partition.beta", "partition.", "strategy.", "local.optimizer.lr"),
    *("feature_noise", "local.optimizer.", "fraction", "cohort", "clients", "local.epochs", "local.batch_size"),
)
"""Numbers that experiments are about, by how often."""


def field_interest(path: str) -> int:
    known = [place for place, start in enumerate(FIELDS_OF_INTEREST) if path.startswith(start)]
    return min(known, default=len(FIELDS_OF_INTEREST))


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
    every_axis = sort_axes(flat_axis_values(flat, sources), flat)
    slugs = flat_axis_values(flat, sources, "slug")
    axes = rename_values(drop_redundant_axes(every_axis), slugs, choices.labels)
    only: dict[str, set[str]] = {}
    for axis, word in query.only:
        if axis in axes and word in slugs[axis].values():
            only.setdefault(axis, set()).add(word)
    kept_cells = tuple(
        cell for cell in sort_cells(cells, axes) if all(slugs[axis][cell.key] in words for axis, words in only.items())
    )
    narrowed = narrow_axes(axes, kept_cells)
    return Selection(
        tuple(studies),
        kept_cells,
        narrowed,
        facets_of(axes, slugs, only, choices.labels),
        {axis: {cell.key: slugs[axis][cell.key] for cell in kept_cells} for axis in narrowed},
        narrow_axes({axis: words for axis, words in every_axis.items() if axis not in axes}, kept_cells),
    )


def sort_cells(cells: Sequence[SelectedCell], axes: Axes) -> list[SelectedCell]:
    """By the values of their axes, the data set first."""
    places = [(words, first_positions(words.values())) for words in axes.values()]
    return sorted(cells, key=lambda cell: [place[words[cell.key]] for words, place in places])


def rename_values(axes: Axes, slugs: Axes, labels: Labels) -> dict[str, dict[str, str]]:
    """With the labels that the person chose; one that another value of the axis has already tells nothing apart."""
    renamed = {}
    for axis, words in axes.items():
        taken = set(words.values())
        names: dict[str, str] = {}
        for key in dict.fromkeys(slugs[axis].values()):
            label = labels.get((axis, key), "")
            if label and label not in taken:
                names[key] = label
                taken.add(label)
        renamed[axis] = {cell: names.get(slugs[axis][cell], word) for cell, word in words.items()}
    return renamed


def narrow_axes(axes: Axes, cells: Sequence[SelectedCell]) -> dict[str, dict[str, str]]:
    here = {cell.key for cell in cells}
    return varying_axes(
        {axis: {cell: word for cell, word in words.items() if cell in here} for axis, words in axes.items()}
    )


def varying_axes(axes: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {axis: words for axis, words in axes.items() if len(set(words.values())) > 1}


def facets_of(axes: Axes, slugs: Axes, only: Mapping[str, set[str]], labels: Labels) -> tuple[Facet, ...]:
    facets = []
    for axis, words in axes.items():
        counts: dict[tuple[str, str], int] = {}
        for cell, word in words.items():
            value = slugs[axis][cell], word
            counts[value] = counts.get(value, 0) + 1
        chosen = only.get(axis, set())
        values = tuple(
            FacetValue(key, word, count, key in chosen, labels.get((axis, key), ""))
            for (key, word), count in counts.items()
        )
        facets.append(Facet(axis, axis_title(axis), values))
    return tuple(facets)
