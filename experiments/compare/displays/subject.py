"""A study as the displays see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.http import QueryDict

from experiments.charts.styles import CellStyle
from experiments.compare.charts.values import compared_axis
from experiments.compare.choices import choices_of
from experiments.compare.selection import Selection, selection_of
from experiments.labels.axes import MAIN_AXES, follows_from
from experiments.labels.names import COMPONENT_KINDS
from experiments.models import RunState, Study
from experiments.presets.preset import Preset
from experiments.presets.readings import CurvesBySeed
from experiments.presets.selectors import curves_by_seed, read_run_curves
from experiments.results.selectors.runs import longest_run
from experiments.statistics.curves import metric_names
from workers.spec import is_app

DEFAULT_TARGET = 0.9
MOST_TABLE_ROUNDS = 5
MOST_TABLE_CELLS, MOST_TABLE_VALUES = 150, 150_000
SAMPLED_CELLS = 40
"""So many cells' first runs tell which metrics there are."""


@dataclass(frozen=True)
class Subject:
    """`target` is a fraction; `at` are the rounds of tables, none for five evenly spaced ones."""

    study: Study
    target: float = DEFAULT_TARGET
    at: tuple[int, ...] = ()
    narrow: bool = False
    """Drawn on a small screen."""
    known_curves: dict[tuple[str, ...], dict[str, CurvesBySeed]] = field(default_factory=dict)

    @cached_property
    def selection(self) -> Selection:
        return selection_of(choices_of(QueryDict(f"study={self.study.pk}")))

    @cached_property
    def cell_styles(self) -> dict[str, CellStyle]:
        return self.styles_by_column()

    def styles_by_column(self, column: str = "") -> dict[str, CellStyle]:
        return replace(self.selection, axes=self.label_axes).cell_styles(choices_of(QueryDict(f"column={column}")))

    @cached_property
    def label_axes(self) -> dict[str, Mapping[str, str]]:
        """What tells cells apart: without what one component decides, such as a reference's epochs."""
        axes = self.selection.axes
        return {axis: words for axis, words in axes.items() if not self.is_decided(axis)}

    def is_decided(self, axis: str) -> bool:
        """Strategy and data set never are; model, partition and noise may be by the data set, others by any."""
        axes = self.selection.axes
        if axis in ("strategy", "app", "dataset"):
            return False
        by = ("dataset",) if axis in MAIN_AXES else [each for each in COMPONENT_KINDS if each != axis]
        return any(follows_from(axes[axis], axes[each]) for each in by if each in axes)

    @cached_property
    def metrics(self) -> list[str]:
        return metric_names(runs=[cell.runs[0].pk for cell in self.selection.cells[:SAMPLED_CELLS]])

    @property
    def strategies(self) -> list[dict[str, object]]:
        """Of the cells that have one: an app brings its own."""
        return [cell.spec["strategy"] for cell in self.selection.cells if not is_app(cell.spec)]

    @cached_property
    def rounds(self) -> int:
        """Of the longest run; an app's spec may not say it."""
        return longest_run(list(self.selection.runs))

    @property
    def table_rounds(self) -> tuple[int, ...]:
        step = max(1, self.rounds // MOST_TABLE_ROUNDS)
        chosen = [number for number in self.at if number <= self.rounds]
        return tuple(chosen or range(step, self.rounds + 1, step))[:MOST_TABLE_ROUNDS]

    @property
    def compared(self) -> str:
        return compared_axis(self.selection.axes)

    @property
    def is_large(self) -> bool:
        """More than anybody reads in a table, and than a web server should hold in memory as single numbers."""
        runs = len(self.selection.runs)
        return len(self.selection.cells) > MOST_TABLE_CELLS or runs * max(1, self.rounds) > MOST_TABLE_VALUES

    def curves(self, *metrics: str) -> dict[str, CurvesBySeed]:
        """Of finished runs; a cell without any has no seeds. Read once, however many tables ask for them."""
        if metrics not in self.known_curves:
            self.known_curves[metrics] = self.read_curves(*metrics)
        return self.known_curves[metrics]

    def read_curves(self, *metrics: str) -> dict[str, CurvesBySeed]:
        done = [run.pk for run in self.selection.runs.values() if run.state == RunState.DONE]
        curves_by_run = read_run_curves(done, list(metrics))
        return {
            cell.key: curves_by_seed([(run.pk, run.seed, run.state) for run in cell.runs], curves_by_run)
            for cell in self.selection.cells
        }


def subject_of(
    study: Study, preset: Preset | None = None, *, target: float | None = None, narrow: bool = False
) -> Subject:
    """With what the preset sets, where there is one; a target that is given counts first."""
    preset_target = preset.target if preset else None
    return Subject(
        study, target or preset_target or DEFAULT_TARGET, tuple(preset.table_rounds) if preset else (), narrow
    )
