"""Curves over a cell's seeds: every stored value counts, and the database does the arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db import connection

FINITE = "m.value NOT IN ('NaN', 'Infinity', '-Infinity')"
OVER_SEEDS = f"""
    avg(m.value) FILTER (WHERE {FINITE}),
    stddev_samp(m.value) FILTER (WHERE {FINITE}),
    min(m.value) FILTER (WHERE {FINITE}),
    max(m.value) FILTER (WHERE {FINITE}),
    count(*) FILTER (WHERE {FINITE}),
    count(*) FILTER (WHERE NOT {FINITE})
"""
SEEDS = f"array_agg(m.value ORDER BY m.run_id) FILTER (WHERE {FINITE})"
# Cells travel as their place in the list: grouping by their 64 characters would cost more than the arithmetic.
ROUNDS = """
    SELECT p.cell, m.round, {over_seeds}, m.round, {seeds}
    FROM unnest(%(runs)s::bigint[], %(cells)s::int[]) AS p(run, cell) JOIN experiments_metric m ON m.run_id = p.run
    WHERE m.name = %(metric)s
    GROUP BY p.cell, m.round ORDER BY p.cell, m.round
"""
# What a run has spent up to a round; the mean over seeds is the curve's place on such an axis.
SPENT = """
    SELECT p.cell, m.round, {over_seeds}, avg(s.total), {seeds}
    FROM unnest(%(runs)s::bigint[], %(cells)s::int[]) AS p(run, cell) JOIN experiments_metric m ON m.run_id = p.run
    JOIN (
        SELECT run_id, round, sum(sum(value)) OVER (PARTITION BY run_id ORDER BY round) AS total
        FROM experiments_metric WHERE name = ANY(%(spent)s) AND run_id = ANY(%(runs)s) GROUP BY run_id, round
    ) s ON s.run_id = m.run_id AND s.round = m.round
    WHERE m.name = %(metric)s
    GROUP BY p.cell, m.round ORDER BY p.cell, m.round
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
    query = (SPENT if spent else ROUNDS).format(over_seeds=OVER_SEEDS, seeds=SEEDS if with_values else "NULL")
    pairs = [(run, place) for place, runs in enumerate(cells.values()) for run in runs]
    runs, places = [run for run, _ in pairs], [place for _, place in pairs]
    keys = list(cells)
    with connection.cursor() as cursor:
        cursor.execute(query, {"metric": metric, "runs": runs, "cells": places, "spent": list(spent)})
        return [
            CurveStatistics(keys[cell], number, mean, std, low, high, n, lost, float(x), tuple(values or ()))
            for cell, number, mean, std, low, high, n, lost, x, values in cursor.fetchall()
        ]
