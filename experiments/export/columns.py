"""What is known of each run beside its numbers, as columns: study, cell, seed, and fields that vary."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from django.db.models import Min, QuerySet

from experiments.models import Membership, Run
from workers.spec import flatten

LEFT_OUT = {"seed", "engine"}
"""The seed has a column of its own; the engine is no part of what a run is."""


@dataclass(frozen=True)
class RunColumns:
    """`runs` are sorted ids. `identity` and `fields` have one value a run, in that order."""

    runs: np.ndarray
    identity: Mapping[str, Any]
    fields: Mapping[str, Any]
    longest: int
    """Rounds of the longest run."""

    def without(self, *names: str) -> RunColumns:
        return replace(self, identity={name: each for name, each in self.identity.items() if name not in names})

    def schema(self, own: Mapping[str, Any]) -> Any:
        """A table's columns: which run, what the table tells of it, and what distinguishes the run."""
        identity = [(name, column.type) for name, column in self.identity.items()]
        fields = [(name, column.type) for name, column in self.fields.items()]
        return pa.schema([*identity, *own.items(), *fields])

    def batch(
        self, schema: Any, runs: Sequence[int] | np.ndarray, own: Sequence[Any], repeats: np.ndarray | None = None
    ) -> Any:
        """Rows of those runs, each run repeated for so many rows of the table's own columns."""
        places = np.searchsorted(self.runs, np.asarray(runs, dtype=np.int64))
        rows = pa.array(places if repeats is None else np.repeat(places, repeats))
        columns = [column.take(rows) for column in self.identity.values()]
        columns += [*own, *(column.take(rows) for column in self.fields.values())]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def read_run_columns(runs: QuerySet[Run], studies: Sequence[int] = (), *, every_field: bool = False) -> RunColumns:
    """A run in several studies counts once, as the first of `studies` that holds it; of all, if none is named."""
    rows = np.array(list(runs.order_by("pk").values_list("pk", "seed", "rounds_done")), dtype=np.int64).reshape(-1, 3)
    cells, fields = cell_fields(runs)
    cell_of_run = cell_positions(runs, cells)
    return RunColumns(
        runs=rows[:, 0],
        identity={
            "run": pa.array(rows[:, 0]),
            "study": pa.array(first_studies(runs, studies), pa.int64()),
            "cell": decode_column(cell_of_run, pa.array(cells, pa.string())),
            "seed": pa.array(rows[:, 1]),
        },
        fields={
            path: field.column(cell_of_run)
            for path, field in fields.items()
            if path not in LEFT_OUT and (every_field or field.varies)
        },
        longest=int(rows[:, 2].max(initial=0)) + 1,
    )


def cell_fields(runs: QuerySet[Run]) -> tuple[list[str], dict[str, SpecField]]:
    """The cells and their fields. All runs of a cell have the same spec but for the seed."""
    cells: list[str] = []

    def specs() -> Iterator[dict[str, Any]]:
        for cell, spec in runs.order_by("cell", "pk").distinct("cell").values_list("cell", "spec").iterator():
            cells.append(cell)
            yield spec

    fields = spec_fields(specs())
    return cells, fields


def cell_positions(runs: QuerySet[Run], cells: Sequence[str]) -> np.ndarray:
    places = {cell: place for place, cell in enumerate(cells)}
    run_cells = runs.order_by("pk").values_list("cell", flat=True).iterator()
    return np.fromiter((places[cell] for cell in run_cells), dtype=np.int32)


def first_studies(runs: QuerySet[Run], studies: Sequence[int]) -> list[int | None]:
    """A run that no study holds any longer has none."""
    members = Membership.objects.filter(run__in=runs.order_by())
    if studies:
        members = members.filter(study__in=studies)
    first = dict(members.order_by().values_list("run_id").annotate(Min("study_id")))
    return [first.get(run) for run in runs.order_by("pk").values_list("pk", flat=True)]


INTEGERS = range(-(2**63), 2**63)


class SpecField:
    """One value a spec, as codes into the distinct ones; where a spec has none, the code is -1."""

    def __init__(self) -> None:
        self.codes = array("i")
        self.values: dict[tuple[type, Any], Any] = {}
        self.order: dict[tuple[type, Any], int] = {}

    def put(self, row: int, value: Any) -> None:
        self.pad(row)
        self.codes.append(-1 if value is None else self.code(value))

    def pad(self, rows: int) -> None:
        self.codes.extend([-1] * (rows - len(self.codes)))

    def code(self, value: Any) -> int:
        key = (type(value), json.dumps(value) if isinstance(value, list | dict) else value)
        self.values.setdefault(key, value)
        return self.order.setdefault(key, len(self.order))

    @property
    def varies(self) -> bool:
        return len(set(self.codes)) > 1

    def column(self, specs: np.ndarray) -> Any:
        """The values at those specs: words as a dictionary, numbers plainly."""
        codes = np.frombuffer(self.codes, dtype=np.int32)[specs] if len(self.codes) else np.array([], np.int32)
        return decode_column(codes, typed_array(list(self.values.values())))


def spec_fields(specs: Iterable[Mapping[str, Any]]) -> dict[str, SpecField]:
    """By path, in the order of first appearance."""
    fields: dict[str, SpecField] = {}
    rows = 0
    for spec in specs:
        for path, value in flatten(spec).items():
            fields.setdefault(path, SpecField()).put(rows, value)
        rows += 1
    for field in fields.values():
        field.pad(rows)
    return fields


def typed_array(values: Sequence[Any]) -> Any:
    """As numbers where all are, as truth values where all are, otherwise as text."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int} and all(value in INTEGERS for value in values):
        return pa.array(values, pa.int64())
    if kinds and kinds <= {int, float}:
        return pa.array([float(value) for value in values], pa.float64())
    return pa.array([value if isinstance(value, str) else json.dumps(value) for value in values], pa.string())


def decode_column(codes: np.ndarray, values: Any) -> Any:
    """Each code's value, nothing for -1. Text stays a dictionary, so that a million rows repeat numbers, not words."""
    places = pa.array(codes.astype(np.int32), mask=codes < 0)
    if pa.types.is_string(values.type):
        return pa.DictionaryArray.from_arrays(places, values)
    return values.take(places)
