"""One column after all of it was read: numbers or words, which ones, and where something is missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workers.data_import.tables import Batch

FILLED = "(missing)"
"""The category of rows whose word is missing, where these are filled in: always the last one."""


class ColumnScan:
    """Counts what there is until there is too much of it; `counts` is None from then on."""

    def __init__(self, name: str, kind: pa.DataType, most_values: int, class_names: tuple[str, ...] = ()) -> None:
        self.name, self.kind, self.most_values, self.class_names = name, kind, most_values, class_names
        self.counts: Counter[str] | None = Counter()
        self.rows = self.missing = 0
        self.first_missing = self.first_infinite = ""
        self.is_number = is_text(kind) or (is_numeric(kind) and not class_names)
        """Of text: as long as every value could be read as a number."""

    def add(self, batch: Batch) -> None:
        values = batch.columns[self.name]
        self.rows += len(values)
        if values.null_count:
            if not self.missing:
                self.first_missing = batch.place(first_true(values.is_null()))
            self.missing += values.null_count
        if self.counts is not None:
            for each in pc.value_counts(as_text(values).drop_null()).to_pylist():
                self.counts[each["values"]] += each["counts"]
            if len(self.counts) > self.most_values:
                self.counts = None
        if self.is_number:
            self.look_at_numbers(values, batch)

    def look_at_numbers(self, values: pa.Array, batch: Batch) -> None:
        try:
            numbers = pc.cast(values, pa.float64())
        except pa.ArrowInvalid:
            self.is_number = False
            return
        infinite = pc.is_inf(numbers)
        if not self.first_infinite and pc.any(infinite).as_py():
            self.first_infinite = batch.place(first_true(infinite))

    @property
    def values(self) -> list[str]:
        """In the order in which they are classes, categories and clients."""
        return in_order(self.counts or ())


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_numeric(kind: pa.DataType) -> bool:
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(check(kind) for check in checks)


def is_picture(kind: pa.DataType) -> bool:
    """Hugging Face's struct of `bytes` and `path`, or the bytes themselves."""
    if pa.types.is_struct(kind):
        return bool(kind.get_field_index("bytes") >= 0)
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def first_true(mask: pa.Array) -> int:
    return int(pc.index(mask.fill_null(False), pa.scalar(True)).as_py())


def as_text(values: pa.Array) -> pa.Array:
    return pc.cast(values, pa.string())


def as_numbers(values: pa.Array) -> np.ndarray:
    """float64, NaN for what is missing."""
    numbers: np.ndarray = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def as_codes(values: pa.Array, ordered: Sequence[str]) -> np.ndarray:
    """The place of each value among these; -1 for what is missing."""
    codes: np.ndarray = pc.index_in(as_text(values), value_set=pa.array(ordered, pa.string())).fill_null(-1).to_numpy()
    return codes


def in_order(values: Iterable[str]) -> list[str]:
    """Numbers by their size, words by their code points (capitals first)."""
    numbers = {each: as_number(each) for each in values}
    if None in numbers.values():
        return sorted(numbers)
    return sorted(numbers, key=lambda each: (numbers[each], each))


def as_number(text: str) -> int | float | None:
    """A whole number whatever its length; None for words, and for what has no place among numbers."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
