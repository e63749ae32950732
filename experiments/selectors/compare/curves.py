"""Curves over a cell's seeds: every stored value counts, and the database does the arithmetic."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db import connection

FINITE = "abs(m.value) < 'Infinity'"  # NaN is more than infinity to PostgreSQL
# Values that are not finite become NULL, which aggregates leave out; OFFSET 0 has that done once for all of them.
QUERY = """
    SELECT cell, round, avg(value), stddev_samp(value), min(value), max(value), count(value), count(*) - count(value),
        {x}, {seeds}
    FROM (
        SELECT p.cell, p.run, m.round, CASE WHEN {finite} THEN m.value END AS value {total}
        FROM unnest(%(runs)s::bigint[], %(cells)s::int[]) AS p(run, cell) JOIN experiments_metric m ON m.run_id = p.run
        {spent}
        WHERE m.name = %(metric)s OFFSET 0
    ) measured
    GROUP BY cell, round ORDER BY cell, round
"""
# As bytes: PostgreSQL's arrays travel as text, which takes longer to read than all the rest.
SEEDS = "string_agg(float8send(value), ''::bytea ORDER BY run)"
# What a run has spent up to a round; the mean over seeds is the curve's place on such an axis.
SPENT = """
        JOIN (
            SELECT run_id, round, sum(sum(value)) OVER (PARTITION BY run_id ORDER BY round) AS total
            FROM experiments_metric WHERE name = ANY(%(spent)s) AND run_id = ANY(%(runs)s) GROUP BY run_id, round
        ) s ON s.run_id = m.run_id AND s.round = m.round
"""


class CurveStatistics(NamedTuple):
    """As `SeedStatistics`, and: `x` is the round, or what the seeds had spent by then on average; `values` are the

    seeds' own, if asked for. A tuple, because a chart is made of thousands.
    """

    cell: str
    round: int
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    n: int
    lost: int
    x: float = 0.0
    values: tuple[float, ...] = ()


def curves_of(
    *, cells: Mapping[str, Sequence[int]], metric: str, spent: Sequence[str] = (), with_values: bool = False
) -> list[CurveStatistics]:
    """`cells` has each cell's runs. `spent` names the metrics that add up to the x axis: by default, the round."""
    axis = (
        {"x": "avg(total)", "total": ", s.total", "spent": SPENT} if spent else {"x": "round", "total": "", "spent": ""}
    )
    query = QUERY.format(**axis, finite=FINITE, seeds=SEEDS if with_values else "NULL")
    # Cells travel as their place in the list: grouping by their 64 characters would cost more than the arithmetic.
    pairs = [(run, place) for place, runs in enumerate(cells.values()) for run in runs]
    runs, places = [run for run, _ in pairs], [place for _, place in pairs]
    keys = list(cells)
    with connection.cursor() as cursor:
        cursor.execute(query, {"metric": metric, "runs": runs, "cells": places, "spent": list(spent)})
        return [
            CurveStatistics(keys[cell], number, mean, std, low, high, n, lost, float(x), doubles(values))
            for cell, number, mean, std, low, high, n, lost, x, values in cursor.fetchall()
        ]


def doubles(sent: memoryview | None) -> tuple[float, ...]:
    return struct.unpack(f">{len(sent) // 8}d", sent) if sent else ()
