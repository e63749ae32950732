"""Means and spreads over seeds: a row for each cell, metric and round.

`std` has ddof 1 and is nothing for one seed; values that are not finite are counted in `not_finite`, and left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from experiments.export.columns import Facts
from experiments.export.reading import pieces
from experiments.export.tables.table import WORD, Table, words

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
OVER_SEEDS = """
SELECT min(run.id), metric.round, metric.name,
    avg(value) FILTER (WHERE finite), stddev_samp(value) FILTER (WHERE finite),
    min(value) FILTER (WHERE finite), max(value) FILTER (WHERE finite),
    count(*) FILTER (WHERE finite), count(*) FILTER (WHERE NOT finite)
FROM experiments_metric AS metric
JOIN experiments_run AS run ON run.id = metric.run_id
CROSS JOIN LATERAL (SELECT metric.value NOT IN ('NaN', 'Infinity', '-Infinity') AS finite) AS measured
WHERE metric.run_id = ANY(%(runs)s) AND (%(names)s::text[] IS NULL OR metric.name = ANY(%(names)s))
GROUP BY run.cell, metric.name, metric.round
ORDER BY run.cell, metric.name, metric.round
"""


def summary_table(facts: Facts, names: Sequence[str] = ()) -> Table:
    cells = facts.without("run", "seed")
    schema = cells.schema(OWN)
    wanted = {"runs": cells.runs.tolist(), "names": list(names) or None}
    return Table(schema, (batch_of(cells, schema, rows) for rows in pieces(OVER_SEEDS, wanted, ROWS)))


def batch_of(facts: Facts, schema: Any, rows: Sequence[Any]) -> Any:
    runs, rounds, metrics, *numbers = zip(*rows, strict=True)
    own = [pa.array(rounds, pa.int32()), words(metrics)]
    own += [pa.array(column, OWN[name]) for name, column in zip(list(OWN)[2:], numbers, strict=True)]
    return facts.batch(schema, runs, own)
