"""How the version before kept curves, to measure against: a row for each value, with its name as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from django.db import connection

from experiments.compare.selectors.values import RunValue, fetch_run_values
from experiments.statistics.curves import read_columns
from experiments.statistics.sums import safe_sum

UPSERT = """
INSERT INTO experiments_metricrow (run_id, round, name, value)
SELECT %s, told.* FROM unnest(%s::int[], %s::text[], %s::float8[]) AS told
ON CONFLICT (run_id, name, round) DO UPDATE SET value = excluded.value
"""
VALUES = """
SELECT string_agg(int8send(run_id), ''::bytea), string_agg(int4send(round), ''::bytea),
    string_agg(float8send(value), ''::bytea)
FROM experiments_metricrow WHERE run_id = ANY(%(runs)s) AND name = ANY(%(names)s)
"""
DONE = "SELECT id FROM experiments_run WHERE id = ANY(%(runs)s) AND state = 'done'"
FINAL = f"""
SELECT r.id, last.value, 0 FROM ({DONE}) r CROSS JOIN LATERAL (
    SELECT value FROM experiments_metricrow
    WHERE run_id = r.id AND name = %(metric)s ORDER BY round DESC LIMIT 1
) last
"""
BEST = f"""
SELECT r.id, own.best, 0 FROM ({DONE}) r CROSS JOIN LATERAL (
    SELECT max(value) FILTER (WHERE abs(value) < 'Infinity') AS best
    FROM experiments_metricrow WHERE run_id = r.id AND name = %(metric)s
) own
"""
TOTAL = f"""
SELECT r.id, own.total, 0 FROM unnest(%(runs)s::bigint[]) AS r(id) CROSS JOIN LATERAL (
    SELECT {safe_sum("value")} AS total FROM experiments_metricrow WHERE run_id = r.id AND name = ANY(%(spent)s)
) own WHERE own.total IS NOT NULL
"""


def rows_record(*, run: int, rounds: Iterable[tuple[int, Mapping[str, float]]]) -> None:
    """In place of `curves_record`."""
    values = [(number, name, float(value)) for number, metrics in rounds for name, value in metrics.items()]
    with connection.cursor() as cursor:
        cursor.execute(UPSERT, [run, *(list(column) for column in zip(*values, strict=True))])


def read_rows(runs: Sequence[int], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """In place of `read_values`."""
    ids, rounds, values = read_columns(VALUES, {"runs": list(runs), "names": list(names)}, (">i8", ">i4", ">f8"))
    return ids, rounds, values


def final_rows(runs: Sequence[int], metric: str) -> list[RunValue]:
    return fetch_run_values(FINAL, runs=runs, metric=metric)


def best_rows(runs: Sequence[int], metric: str) -> list[RunValue]:
    return fetch_run_values(BEST, runs=runs, metric=metric)


def row_totals(runs: Sequence[int], names: Sequence[str]) -> list[RunValue]:
    return fetch_run_values(TOTAL, runs=runs, spent=list(names))
