"""Means and spreads over seeds: a row for each cell, metric and round.

`std` has ddof 1 and is nothing for one seed. Seeds that diverged are counted in `not_finite`, and those that ended
without a value there in `missed`: neither is in the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.export.columns import RunColumns
from experiments.export.reading import fetch_pieces
from experiments.export.tables.table import WORD, Table
from experiments.statistics.curves import RunSeeds, read_run_seeds
from experiments.statistics.stored_numbers import decode_numbers

LINES = 8
"""Cells and metrics at a time: each is as long as its runs are together."""
OWN = {
    "round": pa.int32(),
    "metric": WORD,
    "mean": pa.float64(),
    "std": pa.float64(),
    "min": pa.float64(),
    "max": pa.float64(),
    "n": pa.int64(),
    "not_finite": pa.int64(),
    "missed": pa.int64(),
}
LINES_OF_CELLS = """
    SELECT min(run.id), curve.name, string_agg(int8send(curve.run_id), ''::bytea),
        string_agg(int4send(octet_length(curve.numbers)), ''::bytea), string_agg(curve.numbers, ''::bytea)
    FROM (SELECT run_id, name, array_send(numbers) AS numbers FROM experiments_curve) AS curve
    JOIN experiments_run run ON run.id = curve.run_id
    WHERE curve.run_id = ANY(%(runs)s) AND (%(names)s::text[] IS NULL OR curve.name = ANY(%(names)s))
    GROUP BY run.cell, curve.name ORDER BY run.cell, curve.name
"""


def summary_table(facts: RunColumns, names: Sequence[str] = ()) -> Table:
    cells = facts.without("run", "seed")
    schema = cells.schema(OWN)
    parameters = {"runs": cells.runs.tolist(), "names": list(names) or None}
    places = facts.identity["cell"].indices.to_pylist()
    seeds = read_run_seeds(dict(zip(cells.runs.tolist(), places, strict=True)))
    pieces = fetch_pieces(LINES_OF_CELLS, parameters, LINES)
    return Table(schema, (batch_of(cells, schema, seeds, lines) for lines in pieces))


def batch_of(facts: RunColumns, schema: Any, seeds: RunSeeds, lines: Sequence[Any]) -> Any:
    first_runs, names, *packed = zip(*lines, strict=True)
    run_ids, sizes = (
        np.frombuffer(b"".join(column), kind) for column, kind in zip(packed, (">i8", ">i4"), strict=False)
    )
    arrays, rounds, values = decode_numbers(b"".join(packed[2]), sizes)
    places = np.repeat(np.arange(len(lines)), [len(column) // 8 for column in packed[0]])[arrays]
    columns, missed = seeds.statistics(places, run_ids.astype(np.int64)[arrays], rounds, values)
    line_of_row = places[columns.first]
    own = [
        pa.array(rounds[columns.first], pa.int32()),
        pa.DictionaryArray.from_arrays(pa.array(line_of_row, pa.int32()), pa.array(names, pa.string())),
        *(pa.array(column, pa.float64(), from_pandas=True) for column in columns[1:5]),
        *(pa.array(column, pa.int64()) for column in (columns.n, columns.lost, missed)),
    ]
    return facts.batch(schema, np.array(first_runs)[line_of_row], own)
