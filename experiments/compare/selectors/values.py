"""One number per run: what a table, a test or a chart against an axis is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db import connection

from experiments.models import Run, RunState
from experiments.results.models import BLOCK_ROUNDS
from experiments.statistics.curves import read_values
from experiments.statistics.over_seeds import differs, mean_and_std, reduce_each
from experiments.statistics.sums import safe_sum


@dataclass(frozen=True)
class RunValue:
    """`value` is None where a finished run never reached the target; `column` is the round that was asked for."""

    run: int
    value: float | None
    column: int = 0


BYTES = ("bytes_up", "bytes_down", "bytes_peer")
NEVER = 2**31 - 1
"""A round that no run has."""
FINAL = """
    SELECT r.id, last.value, 0
    FROM (SELECT id FROM experiments_run WHERE id = ANY(%(runs)s) AND state = 'done') r CROSS JOIN LATERAL (
        SELECT c.numbers[array_upper(c.numbers, 1)] AS value FROM experiments_curve c
        WHERE c.run_id = r.id AND c.name = %(metric)s ORDER BY c.block DESC, array_upper(c.numbers, 1) DESC LIMIT 1
    ) last
"""
# Numbers are added up and compared where they are: to fetch them takes longer.
BEST = """
    SELECT r.id, own.best, 0
    FROM (SELECT id FROM experiments_run WHERE id = ANY(%(runs)s) AND state = 'done') r CROSS JOIN LATERAL (
        SELECT count(m.value) AS n, coalesce({best}(m.value) FILTER (WHERE abs(m.value) < 'Infinity'), 'NaN') AS best
        FROM (
            SELECT unnest(c.numbers) AS value FROM experiments_curve c WHERE c.run_id = r.id AND c.name = %(metric)s
        ) m
    ) own WHERE own.n > 0
"""
TOTAL = f"""
    SELECT r.id, own.total, 0
    FROM unnest(%(runs)s::bigint[], %(until)s::int[]) AS r(id, until) CROSS JOIN LATERAL (
        SELECT {safe_sum("m.value")} AS total FROM (
            SELECT unnest(c.numbers[:r.until]) AS value FROM experiments_curve c
            WHERE c.run_id = r.id AND c.name = ANY(%(spent)s) AND c.block <= r.until / {BLOCK_ROUNDS}
        ) m
    ) own WHERE own.total IS NOT NULL
"""
AT = f"""
    SELECT c.run_id, c.numbers[wanted.round], wanted.round
    FROM unnest(%(at)s::int[]) AS wanted(round) JOIN experiments_curve c ON c.block = wanted.round / {BLOCK_ROUNDS}
    WHERE c.name = %(metric)s AND c.run_id = ANY(%(runs)s) AND c.numbers[wanted.round] IS NOT NULL
"""


def final_values(*, runs: Sequence[int], metric: str) -> list[RunValue]:
    """The last value of each finished run."""
    return fetch_run_values(FINAL, runs=runs, metric=metric)


def last_values(*, runs: Sequence[int], metric: str, last: int) -> list[RunValue]:
    """The mean of the last few values of each finished run; not finite if one of them is not."""
    curves = read_curves(done_runs(runs), metric)
    ends = [*curves.starts[1:].tolist(), len(curves.values)]
    latest = [
        curves.values[max(start, end - last) : end].tolist() for start, end in zip(curves.starts, ends, strict=True)
    ]
    return [
        RunValue(run, mean_and_std(values)[0] if all(map(math.isfinite, values)) else math.nan)
        for run, values in zip(curves.runs, latest, strict=True)
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
    done = done_runs(runs)
    curves = read_curves(runs, metric)
    met = np.isfinite(curves.values) & (curves.values >= target if higher else curves.values <= target)
    first = reduce_each(np.minimum, np.where(met, curves.rounds, NEVER), curves.starts).tolist()
    hits = {run: number for run, number in zip(curves.runs, first, strict=True) if number != NEVER}
    reached: Mapping[int, float] = curve_sums(hits, spent) if spent else hits
    return [
        *(RunValue(run, None if run not in reached else float(reached[run])) for run in hits),
        *(RunValue(run, None) for run in done if run not in hits),
    ]


def total_values(*, runs: Sequence[int], spent: Sequence[str], until: int | None = None) -> list[RunValue]:
    """What each run has spent in all, or up to a round."""
    sums = curve_sums(dict.fromkeys(runs, NEVER if until is None else until), spent)
    return [RunValue(run, total) for run, total in sums.items()]


def done_runs(runs: Sequence[int]) -> list[int]:
    return list(Run.objects.filter(pk__in=runs, state=RunState.DONE).values_list("pk", flat=True))


class Curves(NamedTuple):
    """One metric of many runs: each run's rounds, in order, and values begin at its start."""

    runs: list[int]
    starts: np.ndarray
    rounds: np.ndarray
    values: np.ndarray


def read_curves(runs: Sequence[int], metric: str) -> Curves:
    """Of those that have values."""
    ids, rounds, values = read_values(runs, [metric])
    ids, rounds, values = in_order(ids * (NEVER + 1) + rounds, ids, rounds, values)
    starts = np.flatnonzero(differs(ids))
    return Curves(ids[starts].tolist(), starts, rounds, values)


def in_order(keys: np.ndarray, *columns: np.ndarray) -> Sequence[np.ndarray]:
    """PostgreSQL mostly has them so, and to look is a tenth of sorting."""
    if (keys[1:] >= keys[:-1]).all():
        return columns
    order = np.argsort(keys, kind="stable")
    return [column[order] for column in columns]


def curve_sums(until: Mapping[int, int], names: Sequence[str]) -> dict[int, float]:
    """Of all these metrics of each run that has one, up to a round of its own; infinite beyond the largest double."""
    rows = fetch_rows(TOTAL, runs=list(until), until=list(until.values()), spent=list(names))
    return {run: float(total) for run, total, _ in rows}


def fetch_run_values(query: str, *, runs: Sequence[int], **parameters: Any) -> list[RunValue]:
    return [
        RunValue(run, None if value is None else float(value), column)
        for run, value, column in fetch_rows(query, runs=runs, **parameters)
    ]


def fetch_rows(query: str, *, runs: Sequence[int], **parameters: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query, {"runs": list(runs), **parameters})
        return list(cursor.fetchall())
