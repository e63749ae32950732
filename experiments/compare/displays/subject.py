"""A study as the displays see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from django.http import QueryDict

from experiments.charts.styles import Placed
from experiments.compare.charts.values import compared_axis
from experiments.compare.choices import choices_of
from experiments.compare.displays.reading_table import Seeds
from experiments.compare.selection import Picked, picked
from experiments.labels.axes import COMPONENTS, MAIN, follows
from experiments.models import RunState, Study
from experiments.presets.preset import Preset
from experiments.presets.selectors import curves_of
from experiments.statistics.over_seeds import metric_names

TARGET = 0.9
COLUMNS = 5
SAMPLED = 40
"""So many cells' first runs tell which metrics there are."""


@dataclass(frozen=True)
class Subject:
    """`target` is a fraction; `at` are the rounds of tables, none for five evenly spaced ones."""

    study: Study
    target: float = TARGET
    at: tuple[int, ...] = ()
    narrow: bool = False
    """Drawn on a small screen."""

    @cached_property
    def picked(self) -> Picked:
        return picked(choices_of(QueryDict(f"study={self.study.pk}")))

    @cached_property
    def places(self) -> dict[str, Placed]:
        return self.placed()

    def placed(self, column: str = "") -> dict[str, Placed]:
        return replace(self.picked, axes=self.told).places(choices_of(QueryDict(f"column={column}")))

    @cached_property
    def told(self) -> dict[str, Mapping[str, str]]:
        """What tells cells apart: without what one component decides, such as a reference's epochs."""
        axes = self.picked.axes
        return {axis: words for axis, words in axes.items() if not self.decided(axis)}

    def decided(self, axis: str) -> bool:
        """Strategy and data set never are; model, partition and noise may be by the data set, others by any."""
        axes = self.picked.axes
        if axis in ("strategy", "dataset"):
            return False
        by = ("dataset",) if axis in MAIN else [each for each in COMPONENTS if each != axis]
        return any(follows(axes[axis], axes[each]) for each in by if each in axes)

    @cached_property
    def metrics(self) -> list[str]:
        return metric_names(runs=[cell.runs[0].pk for cell in self.picked.cells[:SAMPLED]])

    @property
    def strategies(self) -> list[dict[str, object]]:
        return [cell.spec["strategy"] for cell in self.picked.cells]

    @property
    def rounds(self) -> int:
        return max((cell.spec["rounds"] for cell in self.picked.cells), default=0)

    @property
    def table_rounds(self) -> tuple[int, ...]:
        step = max(1, self.rounds // COLUMNS)
        chosen = [number for number in self.at if number <= self.rounds]
        return tuple(chosen or range(step, self.rounds + 1, step))[:COLUMNS]

    @property
    def compared(self) -> str:
        return compared_axis(self.picked.axes)

    def curves(self, *metrics: str) -> dict[str, Seeds]:
        """Of finished runs; a cell without any has no seeds."""
        done = [run.pk for run in self.picked.runs.values() if run.state == RunState.DONE]
        found = curves_of(done, list(metrics))
        return {
            cell.key: {run.seed: found[run.pk] for run in cell.runs if run.pk in found} for cell in self.picked.cells
        }


def subject_of(
    study: Study, preset: Preset | None = None, *, target: float | None = None, narrow: bool = False
) -> Subject:
    """With what the preset sets, where there is one; a target that is given counts first."""
    own = preset.target if preset else None
    return Subject(study, target or own or TARGET, tuple(preset.table_rounds) if preset else (), narrow)
