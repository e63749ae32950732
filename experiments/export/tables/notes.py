"""What people wrote: a row for each note on the runs, and on the studies that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from django.db.models import QuerySet

from experiments.export.tables.specs import MOMENT
from experiments.export.tables.table import WORD, Table, word_array
from experiments.models import Run
from experiments.notes.selectors import notes_about

SCHEMA = pa.schema(
    [
        ("note", pa.int64()),
        ("study", pa.int64()),
        ("run", pa.int64()),
        ("author", WORD),
        ("created", MOMENT),
        ("edited", MOMENT),
        ("text", WORD),
    ]
)
FIELDS = ("pk", "study_id", "run_id", "author__username", "created", "edited", "text")
NOTES = 1_000


def note_table(runs: QuerySet[Run], studies: Sequence[int]) -> Table:
    return Table(SCHEMA, note_batches(runs, studies))


def note_batches(runs: QuerySet[Run], studies: Sequence[int]) -> Iterator[Any]:
    rows = list(notes_about(runs=runs, studies=studies).values_list(*FIELDS))
    for start in range(0, len(rows), NOTES):
        columns = zip(*rows[start : start + NOTES], strict=True)
        arrays = [
            word_array(column) if field.type == WORD else pa.array(column, field.type)
            for field, column in zip(SCHEMA, columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
