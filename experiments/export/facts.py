"""What is known of each run beside its numbers: study, cell, seed, and the fields in which the runs differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from django.db.models import Min, QuerySet

from experiments.export.fields import Field, coded, fields_of
from experiments.models import Membership, Run

OF_NO_INTEREST = {"seed", "engine"}
"""The seed has a column of its own; the engine is no part of what a run is."""


Numbers = Sequence[int] | np.ndarray


@dataclass(frozen=True)
class Facts:
    """`runs` are sorted ids. `identity` and `fields` have one value a run, in that order."""

    runs: np.ndarray
    identity: Mapping[str, Any]
    fields: Mapping[str, Any]
    longest: int
    """Rounds of the longest run."""

    def without(self, *names: str) -> Facts:
        return replace(self, identity={name: each for name, each in self.identity.items() if name not in names})

    def schema(self, own: Mapping[str, Any]) -> Any:
        """A table's columns: which run, what the table tells of it, and what distinguishes the run."""
        given = [(name, column.type) for name, column in self.identity.items()]
        fields = [(name, column.type) for name, column in self.fields.items()]
        return pa.schema([*given, *own.items(), *fields])

    def batch(
        self, schema: Any, runs: Sequence[int] | np.ndarray, own: Sequence[Any], repeats: np.ndarray | None = None
    ) -> Any:
        """Rows of those runs, each run repeated for so many rows of the table's own columns."""
        places = np.searchsorted(self.runs, np.asarray(runs, dtype=np.int64))
        rows = pa.array(places if repeats is None else np.repeat(places, repeats))
        columns = [column.take(rows) for column in self.identity.values()]
        columns += [*own, *(column.take(rows) for column in self.fields.values())]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def facts_of(runs: QuerySet[Run], studies: Sequence[int] = (), *, every_field: bool = False) -> Facts:
    """A run in several studies counts once, as the first of `studies` that holds it; of all, if none is named."""
    rows = np.array(list(runs.order_by("pk").values_list("pk", "seed", "rounds_done")), dtype=np.int64).reshape(-1, 3)
    cells, fields = cell_fields(runs)
    of_run = cell_places(runs, cells)
    return Facts(
        runs=rows[:, 0],
        identity={
            "run": pa.array(rows[:, 0]),
            "study": pa.array(studies_of(runs, studies), pa.int64()),
            "cell": coded(of_run, pa.array(cells, pa.string())),
            "seed": pa.array(rows[:, 1]),
        },
        fields={
            path: field.column(of_run)
            for path, field in fields.items()
            if path not in OF_NO_INTEREST and (every_field or field.varies)
        },
        longest=int(rows[:, 2].max(initial=0)) + 1,
    )


def cell_fields(runs: QuerySet[Run]) -> tuple[list[str], dict[str, Field]]:
    """The cells and their fields. All runs of a cell have the same spec but for the seed."""
    cells: list[str] = []

    def specs() -> Iterator[dict[str, Any]]:
        for cell, spec in runs.order_by("cell", "pk").distinct("cell").values_list("cell", "spec").iterator():
            cells.append(cell)
            yield spec

    fields = fields_of(specs())
    return cells, fields


def cell_places(runs: QuerySet[Run], cells: Sequence[str]) -> np.ndarray:
    places = {cell: place for place, cell in enumerate(cells)}
    found = runs.order_by("pk").values_list("cell", flat=True).iterator()
    return np.fromiter((places[cell] for cell in found), dtype=np.int32)


def studies_of(runs: QuerySet[Run], studies: Sequence[int]) -> list[int | None]:
    """A run that no study holds any longer has none."""
    members = Membership.objects.filter(run__in=runs.order_by())
    if studies:
        members = members.filter(study__in=studies)
    first = dict(members.order_by().values_list("run_id").annotate(Min("study_id")))
    return [first.get(run) for run in runs.order_by("pk").values_list("pk", flat=True)]
