"""The runs a study would have, a page at a time: what varies, and which of them exist already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from experiments.charts.labels import axis_title, axis_values
from experiments.services.definition import StudyDefinition
from experiments.services.studies import live_runs
from workers.spec import PlannedRun, expand

PAGE = 50


@dataclass(frozen=True)
class Row:
    """One planned run; `run` and `state` where it exists already."""

    number: int
    values: tuple[str, ...]
    seed: int
    run: int | None
    state: str


@dataclass(frozen=True)
class Preview:
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    total: int
    page: int
    pages: int

    @property
    def first(self) -> int:
        return (self.page - 1) * PAGE + 1

    @property
    def last(self) -> int:
        return min(self.page * PAGE, self.total)


def preview(definition: StudyDefinition, page: int) -> Preview:
    runs = expand(definition.blocks, limit=settings.MAX_RUNS).runs
    pages = -(-len(runs) // PAGE)
    page = max(1, min(page, pages))
    chosen = runs[(page - 1) * PAGE : page * PAGE]
    axes = varying(runs)
    existing = existing_runs(chosen) if definition.reuse else {}
    rows = [
        Row(
            number=(page - 1) * PAGE + place,
            values=tuple(words[run.cell].removeprefix(f"{axis_title(axis)} ") for axis, words in axes.items()),
            seed=run.spec.seed,
            run=existing.get(run.hash, (None, ""))[0],
            state=existing.get(run.hash, (None, "new"))[1],
        )
        for place, run in enumerate(chosen, start=1)
    ]
    return Preview(tuple(map(axis_title, axes)), tuple(rows), len(runs), page, pages)


def varying(runs: Sequence[PlannedRun]) -> dict[str, dict[str, str]]:
    """Each axis with its value in words for every cell; seeds of a cell have the same."""
    return axis_values({run.cell: run.spec.model_dump(mode="json") for run in runs})


def existing_runs(runs: Sequence[PlannedRun]) -> dict[str, tuple[int | None, str]]:
    return {run_hash: (pk, state) for run_hash, pk, state in live_runs(runs).values_list("hash", "pk", "state")}
