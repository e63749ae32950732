"""What was run: a row for each run, with every field of its spec, whether the runs differ in it or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from experiments.export.columns import RunColumns
from experiments.export.tables.table import WORD, Table, row_batch
from experiments.models import Run

RUNS = 2_000
MOMENT = pa.timestamp("us", tz="UTC")
OWN = {
    "hash": WORD,
    "state": WORD,
    "rounds_done": pa.int32(),
    "rounds_total": pa.int32(),
    "engine": WORD,
    "reason": WORD,
    "created": MOMENT,
    "started": MOMENT,
    "finished": MOMENT,
}


def spec_table(columns: RunColumns, _: Sequence[str] = ()) -> Table:
    schema = columns.schema(OWN)
    return Table(schema, (row_batch(columns, schema, OWN, rows) for rows in spec_row_lists(columns)))


def spec_row_lists(columns: RunColumns) -> Iterator[list[Any]]:
    for start in range(0, len(columns.runs), RUNS):
        runs = Run.objects.filter(pk__in=columns.runs[start : start + RUNS].tolist())
        yield list(runs.order_by("pk").values_list("pk", *OWN))
