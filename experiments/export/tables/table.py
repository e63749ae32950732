"""What a table is, and how its rows become Arrow's record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from experiments.export.columns import RunColumns

WORD = pa.dictionary(pa.int32(), pa.string())
"""All text is a dictionary: what repeats is kept, quoted and made harmless once."""


@dataclass(frozen=True)
class Table:
    """An Arrow schema and its record batches, which are read while they are taken."""

    schema: Any
    batches: Iterator[Any]


def word_array(values: Sequence[str | None]) -> Any:
    return pa.array(values, pa.string()).dictionary_encode()


def row_batch(columns: RunColumns, schema: Any, own: Mapping[str, Any], rows: Iterable[Sequence[Any]]) -> Any:
    """Of rows that begin with their run and go on with the table's own values."""
    runs, *values = zip(*rows, strict=True)
    arrays = [
        word_array(column) if kind == WORD else pa.array(column, kind)
        for kind, column in zip(own.values(), values, strict=True)
    ]
    return columns.batch(schema, runs, arrays)
