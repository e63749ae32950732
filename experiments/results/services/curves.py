"""Curves as they are told: rounds become blocks, and each block of a metric is written in place.

Whoever writes holds the lock on the run's row, or has just made the run: two writers of one run take turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Event

from django.db import connection

from experiments.models import CurveBlock, MetricRow
from experiments.results.models import BLOCK_ROUNDS

Value = tuple[int, int, str, float]
"""Run, round, metric and number."""
BLOCKS_AT_ONCE = 5_000

# What is told later replaces what was told before; rounds that it leaves out stay as they are.
UPSERT = """
INSERT INTO experiments_curveblock AS stored (run_id, name, block, numbers)
SELECT told.run, told.name, told.block, told.numbers::float8[]
FROM unnest(%s::bigint[], %s::text[], %s::int[], %s::text[]) AS told (run, name, block, numbers)
ON CONFLICT (run_id, name, block) DO UPDATE
SET numbers[array_lower(excluded.numbers, 1):array_upper(excluded.numbers, 1)] = CASE
    WHEN array_position(excluded.numbers, NULL) IS NULL THEN excluded.numbers
    ELSE ARRAY(
        SELECT coalesce(excluded.numbers[round], stored.numbers[round])
        FROM generate_subscripts(excluded.numbers, 1) AS round ORDER BY round
    )
END
"""
FROM_ROWS = f"""
WITH rows (run_id, round, name, value) AS ({{rows}}), stretches AS (
    SELECT run_id, name, round / {BLOCK_ROUNDS} AS block, min(round) AS first, max(round) AS last,
        array_agg(round ORDER BY round) AS rounds, array_agg(value ORDER BY round) AS known
    FROM rows GROUP BY run_id, name, round / {BLOCK_ROUNDS}
)
INSERT INTO experiments_curveblock (run_id, name, block, numbers)
SELECT run_id, name, block, array_fill(known[1], ARRAY[1], ARRAY[first]) || CASE
    WHEN cardinality(known) = last - first + 1 THEN known[2:]
    ELSE ARRAY(SELECT known[array_position(rounds, each)] FROM generate_series(first + 1, last) AS each ORDER BY each)
END
FROM stretches ORDER BY run_id, block, name
"""
MOVE = FROM_ROWS.format(
    rows="DELETE FROM experiments_metricrow WHERE run_id = ANY(%s) RETURNING run_id, round, name, value"
)
READS_OLD_ROWS = "SELECT strpos(pg_get_viewdef('experiments_curve'::regclass), 'experiments_metricrow') > 0"
no_old_rows = Event()


def insert_from_rows(rows: str) -> str:
    """SQL that makes blocks of a query's rows: run, round, name and value, each round of a metric once."""
    return FROM_ROWS.format(rows=rows)


def curves_record(*, run: int, rounds: Iterable[tuple[int, Mapping[str, float]]]) -> None:
    """Of a run that may have been at work before. Told twice is kept once, as told last."""
    if old_rows_left():
        rows_move(runs=[run])
    values_write((run, number, name, value) for number, metrics in rounds for name, value in metrics.items())


def values_write(values: Iterable[Value]) -> None:
    """All or nothing needs a transaction around it."""
    blocks: dict[tuple[int, str, int], dict[int, float]] = {}
    for run, number, name, value in values:
        blocks.setdefault((run, name, number // BLOCK_ROUNDS), {})[number] = float(value)
    with connection.cursor() as cursor:
        keys = list(blocks)
        for start in range(0, len(keys), BLOCKS_AT_ONCE):
            some = keys[start : start + BLOCKS_AT_ONCE]
            columns = [list(column) for column in zip(*some, strict=True)]
            cursor.execute(UPSERT, [*columns, [array_text(blocks[key]) for key in some]])


def array_text(known: Mapping[int, float]) -> str:
    """As PostgreSQL reads an array that does not begin with 1; `repr` is the shortest text of exactly that number."""
    first, last = min(known), max(known)
    numbers = (repr(known[number]) if number in known else "NULL" for number in range(first, last + 1))
    return f"[{first}:{last}]={{{','.join(numbers)}}}"


def curves_forget(*, run: int) -> None:
    CurveBlock.objects.filter(run=run).delete()
    MetricRow.objects.filter(run=run).delete()


def old_rows_left() -> bool:
    """Whether some run may have values as they were stored before. None come again, so that nobody looks twice."""
    if not no_old_rows.is_set():
        with connection.cursor() as cursor:
            cursor.execute(READS_OLD_ROWS)
            if not cursor.fetchone()[0]:
                no_old_rows.set()
    return not no_old_rows.is_set()


def rows_move(*, runs: Sequence[int]) -> None:
    """Readers see a run's values in one place or in the other."""
    with connection.cursor() as cursor:
        cursor.execute(MOVE, [list(runs)])
