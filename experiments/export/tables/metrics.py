"""Per-round metrics: a row for each run, metric and round, curve after curve.

PostgreSQL hands over blocks of curves as they are stored, in its binary form, and numpy decodes many at a time: a
million rows are some ten thousand values to Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.export.columns import RunColumns
from experiments.export.reading import Fields, copy_rows
from experiments.export.tables.table import WORD, Table, word_array
from experiments.statistics.stored_numbers import decode_numbers

PIECE = 65_536 * 12
"""Bytes that make a batch: some 65,536 values."""
OWN = {
    "round": pa.int32(),
    "metric": WORD,
    "value": pa.float64(),
}
CURVES = """
SELECT run_id, name, array_send(numbers) FROM experiments_curve
WHERE run_id = ANY(%(runs)s) AND (%(names)s::text[] IS NULL OR name = ANY(%(names)s))
ORDER BY run_id, name, block, array_lower(numbers, 1)
"""


def metric_table(columns: RunColumns, names: Sequence[str] = ()) -> Table:
    schema = columns.schema(OWN)
    parameters = {"runs": columns.runs.tolist(), "names": list(names) or None}
    return Table(schema, (block_batch(columns, schema, blocks) for blocks in copy_rows(CURVES, parameters, PIECE)))


def block_batch(columns: RunColumns, schema: Any, blocks: Sequence[Fields]) -> Any:
    runs, names, numbers = zip(*blocks, strict=True)
    decoded = decode_numbers(b"".join(numbers), np.array([len(each) for each in numbers]))
    metric = word_array([name.decode() for name in names]).take(pa.array(decoded.arrays))
    own = [pa.array(decoded.rounds.astype(np.int32)), metric, pa.array(decoded.values)]
    run_ids = np.frombuffer(b"".join(runs), dtype=">i8")
    return columns.batch(schema, run_ids, own, np.bincount(decoded.arrays, minlength=len(run_ids)))
