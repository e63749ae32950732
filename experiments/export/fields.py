"""The fields of many specs as columns, without holding the specs."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from workers.spec import flatten

INTEGERS = range(-(2**63), 2**63)


class Field:
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
        return coded(codes, typed(list(self.values.values())))


def fields_of(specs: Iterable[Mapping[str, Any]]) -> dict[str, Field]:
    """By path, in the order of first appearance."""
    fields: dict[str, Field] = {}
    rows = 0
    for spec in specs:
        for path, value in flatten(spec).items():
            fields.setdefault(path, Field()).put(rows, value)
        rows += 1
    for field in fields.values():
        field.pad(rows)
    return fields


def typed(values: Sequence[Any]) -> Any:
    """As numbers where all are, as truth values where all are, otherwise as text."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int} and all(value in INTEGERS for value in values):
        return pa.array(values, pa.int64())
    if kinds and kinds <= {int, float}:
        return pa.array([float(value) for value in values], pa.float64())
    return pa.array([value if isinstance(value, str) else json.dumps(value) for value in values], pa.string())


def coded(codes: np.ndarray, values: Any) -> Any:
    """Each code's value, nothing for -1. Text stays a dictionary, so that a million rows repeat numbers, not words."""
    places = pa.array(codes.astype(np.int32), mask=codes < 0)
    if pa.types.is_string(values.type):
        return pa.DictionaryArray.from_arrays(places, values)
    return values.take(places)
