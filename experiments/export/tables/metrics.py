"""Per-round metrics: a row for each run, metric and round, curve after curve.

PostgreSQL hands over whole curves as arrays in its binary form, and numpy reads them as they are: a million rows are a
few thousand values to Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.export.columns import RunColumns
from experiments.export.reading import Fields, copy_rows
from experiments.export.tables.table import WORD, Table, word_array

PIECE = 65_536 * 20
"""Bytes that make a batch: some 65,536 rows."""
SEGMENT = 10_000
"""Rounds of a curve that travel together, so that memory does not grow with the length of a run."""
OWN = {
    "round": pa.int32(),
    "metric": WORD,
    "value": pa.float64(),
}
CURVES = """
SELECT run_id, name, array_send(array_agg(round ORDER BY round)), array_send(array_agg(value ORDER BY round))
FROM experiments_metric
WHERE run_id = ANY(%(runs)s) AND (%(names)s::text[] IS NULL OR name = ANY(%(names)s))
GROUP BY run_id, name{segment} ORDER BY run_id, name{segment}
"""
HEADER = 20
"""Bytes before the first element of an array in binary form; each element comes after its length."""
ROUND = np.dtype([("length", ">i4"), ("value", ">i4")])
VALUE = np.dtype([("length", ">i4"), ("value", ">f8")])


def metric_table(columns: RunColumns, names: Sequence[str] = ()) -> Table:
    schema = columns.schema(OWN)
    sql = CURVES.format(segment=f", round / {SEGMENT}" if columns.longest > SEGMENT else "")
    parameters = {"runs": columns.runs.tolist(), "names": list(names) or None}
    return Table(schema, (curve_batch(columns, schema, curves) for curves in copy_rows(sql, parameters, PIECE)))


def curve_batch(columns: RunColumns, schema: Any, curves: Sequence[Fields]) -> Any:
    runs, names, rounds, values = zip(*curves, strict=True)
    lengths = np.array([(len(each) - HEADER) // ROUND.itemsize for each in rounds])
    metric = word_array([name.decode() for name in names]).take(pa.array(np.repeat(np.arange(len(names)), lengths)))
    own = [pa.array(decode_arrays(rounds, ROUND, np.int32)), metric, pa.array(decode_arrays(values, VALUE, np.float64))]
    return columns.batch(schema, np.frombuffer(b"".join(runs), dtype=">i8"), own, lengths)


def decode_arrays(arrays: Sequence[bytes], element: np.dtype[Any], kind: type) -> np.ndarray:
    joined = b"".join(array[HEADER:] for array in arrays)
    return np.frombuffer(joined, dtype=element)["value"].astype(kind)
