"""One number per run: what a table, a test or a chart against an axis is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from experiments.statistics.over_seeds import mean_and_std
from experiments.statistics.sums import safe_sum


@dataclass(frozen=True)
class RunValue:
    """`value` is None where a finished run never reached the target; `column` is the round that was asked for."""

    run: int
    value: float | None
    column: int = 0


BYTES = ("bytes_up", "bytes_down", "bytes_peer")
FINITE = "abs(value) < 'Infinity'"  # NaN is more than infinity to PostgreSQL
RUNS = "SELECT id FROM experiments_run WHERE id = ANY(%(runs)s) AND state = 'done'"
FINAL = f"""
    SELECT r.id, last.value, 0 FROM ({RUNS}) r CROSS JOIN LATERAL (
        SELECT m.value FROM experiments_metric m
        WHERE m.run_id = r.id AND m.name = %(metric)s ORDER BY m.round DESC LIMIT 1
    ) last
"""
LAST = f"""
    SELECT r.id, array_agg(last.value), 0 FROM ({RUNS}) r CROSS JOIN LATERAL (
        SELECT m.value FROM experiments_metric m
        WHERE m.run_id = r.id AND m.name = %(metric)s ORDER BY m.round DESC LIMIT %(last)s
    ) last GROUP BY r.id
"""
BEST = f"""
    SELECT r.id, own.best, 0 FROM ({RUNS}) r CROSS JOIN LATERAL (
        SELECT count(*) AS n, coalesce({{best}}(m.value) FILTER (WHERE {FINITE}), 'NaN') AS best
        FROM experiments_metric m WHERE m.run_id = r.id AND m.name = %(metric)s
    ) own WHERE own.n > 0
"""
AT = """
    SELECT m.run_id, m.value, m.round FROM experiments_metric m
    WHERE m.name = %(metric)s AND m.run_id = ANY(%(runs)s) AND m.round = ANY(%(at)s)
"""
# A finished run without such a round has a row of its own, with nothing in it.
REACHED = f"""
    SELECT r.id, {{spent}}, 0 FROM experiments_run r CROSS JOIN LATERAL (
        SELECT min(m.round) AS round FROM experiments_metric m
        WHERE m.run_id = r.id AND m.name = %(metric)s AND m.value {{side}} %(target)s AND {FINITE}
    ) hit
    WHERE r.id = ANY(%(runs)s) AND (hit.round IS NOT NULL OR r.state = 'done')
"""
SPENT_BY_THEN = f"""(
    SELECT {safe_sum("s.value")} FROM experiments_metric s
    WHERE s.run_id = r.id AND s.name = ANY(%(spent)s) AND s.round <= hit.round
)"""
TOTAL = f"""
    SELECT r.id, own.total, 0 FROM unnest(%(runs)s::bigint[]) AS r(id) CROSS JOIN LATERAL (
        SELECT {safe_sum("m.value")} AS total FROM experiments_metric m
        WHERE m.run_id = r.id AND m.name = ANY(%(spent)s) AND (%(until)s::int IS NULL OR m.round <= %(until)s)
    ) own WHERE own.total IS NOT NULL
"""


def final_values(*, runs: Sequence[int], metric: str) -> list[RunValue]:
    """The last value of each finished run."""
    return fetch_run_values(FINAL, runs=runs, metric=metric)


def last_values(*, runs: Sequence[int], metric: str, last: int) -> list[RunValue]:
    """The mean of the last few values of each finished run; not finite if one of them is not."""
    return [
        RunValue(run, mean_and_std(values)[0] if all(map(math.isfinite, values)) else math.nan, column)
        for run, values, column in fetch_rows(LAST, runs=runs, metric=metric, last=last)
    ]


def best_values(*, runs: Sequence[int], metric: str, higher: bool) -> list[RunValue]:
    """The best finite value of each finished run; NaN for one that has none."""
    return fetch_run_values(BEST.format(best="max" if higher else "min"), runs=runs, metric=metric)


def values_at(*, runs: Sequence[int], metric: str, at: Sequence[int]) -> list[RunValue]:
    """At each of the rounds, of every run that has come so far."""
    return fetch_run_values(AT, runs=runs, metric=metric, at=list(at))


def target_values(
    *, runs: Sequence[int], metric: str, target: float, higher: bool, spent: Sequence[str] = ()
) -> list[RunValue]:
    """The first round that met the target, or what was spent by then. Runs that may yet meet it are left out."""
    query = REACHED.format(side=">=" if higher else "<=", spent=SPENT_BY_THEN if spent else "hit.round")
    return fetch_run_values(query, runs=runs, metric=metric, target=target, spent=list(spent))


def total_values(*, runs: Sequence[int], spent: Sequence[str], until: int | None = None) -> list[RunValue]:
    """What each run has spent in all, or up to a round."""
    return fetch_run_values(TOTAL, runs=runs, spent=list(spent), until=until)


def fetch_run_values(query: str, *, runs: Sequence[int], **parameters: Any) -> list[RunValue]:
    return [
        RunValue(run, None if value is None else float(value), column)
        for run, value, column in fetch_rows(query, runs=runs, **parameters)
    ]


def fetch_rows(query: str, *, runs: Sequence[int], **parameters: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query, {"runs": list(runs), **parameters})
        return list(cursor.fetchall())
