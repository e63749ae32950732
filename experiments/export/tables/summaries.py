"""Means and spreads over seeds: a row for each cell, metric and round.

`std` has ddof 1 and is nothing for one seed; values that are not finite are counted in `not_finite`, and left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from experiments.export.columns import RunColumns
from experiments.export.reading import fetch_pieces
from experiments.export.tables.table import WORD, Table, word_array
from experiments.statistics.over_seeds import Column, over_seeds

ROWS = 16_384
OWN = {
    "round": pa.int32(),
    "metric": WORD,
    "mean": pa.float64(),
    "std": pa.float64(),
    "min": pa.float64(),
    "max": pa.float64(),
    "n": pa.int64(),
    "not_finite": pa.int64(),
}
VALUES = """
    SELECT run.id AS run, run.cell, run.seed, metric.name, metric.round, metric.value
    FROM experiments_metric metric JOIN experiments_run run ON run.id = metric.run_id
    WHERE metric.run_id = ANY(%(runs)s) AND (%(names)s::text[] IS NULL OR metric.name = ANY(%(names)s))
"""
STATISTICS = over_seeds(VALUES, by="cell, name, round", further={"run": Column("min(run)", "min(run)")})
SUMMARIES = f"""
    SELECT run, round, name, mean, std, low, high, n, lost FROM ({STATISTICS}) points ORDER BY cell, name, round
"""


def summary_table(facts: RunColumns, names: Sequence[str] = ()) -> Table:
    cells = facts.without("run", "seed")
    schema = cells.schema(OWN)
    wanted = {"runs": cells.runs.tolist(), "names": list(names) or None}
    return Table(schema, (batch_of(cells, schema, rows) for rows in fetch_pieces(SUMMARIES, wanted, ROWS)))


def batch_of(facts: RunColumns, schema: Any, rows: Sequence[Any]) -> Any:
    runs, rounds, metrics, *numbers = zip(*rows, strict=True)
    own = [pa.array(rounds, pa.int32()), word_array(metrics)]
    own += [pa.array(column, OWN[name]) for name, column in zip(list(OWN)[2:], numbers, strict=True)]
    return facts.batch(schema, runs, own)
