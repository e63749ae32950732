"""Curves over the seeds of cells: every stored value counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Q

from experiments.models import Curve, Membership
from experiments.statistics.over_seeds import (
    SeedColumns,
    SeedStatistics,
    ended_seeds,
    over_seeds,
)
from experiments.statistics.stored_numbers import decode_numbers

NOT_FINITE = Q(value__in=[float("nan"), float("inf"), float("-inf")])
# Columns travel as bytes: to read thousands of rows of text takes longer than to compute with them.
VALUES = """
    SELECT string_agg(int8send(run_id), ''::bytea), string_agg(int4send(octet_length(numbers)), ''::bytea),
        string_agg(numbers, ''::bytea)
    FROM (
        SELECT run_id, array_send(numbers) AS numbers FROM experiments_curve
        WHERE run_id = ANY(%(runs)s) AND name = ANY(%(names)s)
    ) AS curve
"""
RUNS = "SELECT id, seed, state FROM experiments_run WHERE id = ANY(%(runs)s) ORDER BY id"


def runs_by_cell(*, studies: Iterable[int], cells: Sequence[str]) -> dict[str, list[int]]:
    """Each cell's runs in these studies, in the order of the cells."""
    members = Membership.objects.filter(study_id__in=list(studies), run__cell__in=list(cells)).order_by("run_id")
    runs: dict[str, list[int]] = {cell: [] for cell in cells}
    for cell, run in members.values_list("run__cell", "run_id").distinct():
        runs[cell].append(run)
    return runs


@dataclass(frozen=True)
class RunSeeds:
    """Runs in ascending order, as columns: each one's cell, by its place, and its seed.

    `unended` tells whether some run of that seed is still to end; `ended` counts the seeds of each cell that have none
    to wait for.
    """

    runs: np.ndarray
    cells: np.ndarray
    seeds: np.ndarray
    unended: np.ndarray
    ended: np.ndarray

    def statistics(
        self, lines: np.ndarray, runs: np.ndarray, rounds: np.ndarray, values: np.ndarray
    ) -> tuple[SeedColumns, np.ndarray]:
        """For each line and round, and how many seeds of its cell have ended without a value there."""
        places = np.searchsorted(self.runs, runs)
        groups = lines * (rounds.max(initial=0) + 1) + rounds
        columns = over_seeds(groups, self.seeds[places], values, self.unended[places])
        ended_here = columns.n + columns.lost - columns.unended
        return columns, self.ended[self.cells[places[columns.first]]] - ended_here


def read_run_seeds(places: Mapping[int, int]) -> RunSeeds:
    """`places` has the place of each run's cell."""
    with connection.cursor() as cursor:
        cursor.execute(RUNS, {"runs": list(places)})
        rows = cursor.fetchall()
    seeds = [(places[run], seed) for run, seed, _ in rows]
    ended = ended_seeds((seed, state) for seed, (_, _, state) in zip(seeds, rows, strict=True))
    return RunSeeds(
        np.array([run for run, _, _ in rows], np.int64),
        np.array([place for place, _ in seeds], np.int64),
        np.array([seed for _, seed in seeds], np.int64),
        np.array([seed not in ended for seed in seeds], bool),
        np.bincount([place for place, _ in ended], minlength=max(places.values(), default=0) + 1),
    )


def curve_statistics(
    *,
    cells: Mapping[str, Sequence[int]],
    metric: str,
    spent: Sequence[str] = (),
    adds_up: bool = True,
    with_values: bool = False,
) -> list[SeedStatistics]:
    """`cells` has each cell's runs. `spent` names the metrics of the x axis, by default the round: their total up to

    each round, or where they do not add up, that round's own.
    """
    table = read_run_seeds({run: place for place, runs in enumerate(cells.values()) for run in runs})
    runs, rounds, values = read_values(table.runs.tolist(), [metric])
    totals = rounds.astype(np.float64)
    if spent:
        totals, known = totals_spent(runs, rounds, read_values(table.runs.tolist(), spent), adds_up=adds_up)
        runs, rounds, values, totals = runs[known], rounds[known], values[known], totals[known]
    lines = table.cells[np.searchsorted(table.runs, runs)]
    columns, missed = table.statistics(lines, runs, rounds, values)
    x = table.statistics(lines, runs, rounds, totals)[0].mean if spent else totals[columns.first]
    keys, ends = list(cells), list(accumulate(columns.n.tolist()))
    own = columns.values.tolist() if with_values else []
    numbers = [[None if value != value else value for value in column.tolist()] for column in columns[1:5]]
    return [
        SeedStatistics(keys[line], number, mean, std, low, high, n, lost, place, tuple(own[end - n : end]), gone)
        for line, number, mean, std, low, high, n, lost, place, end, gone in zip(
            lines[columns.first].tolist(),
            rounds[columns.first].tolist(),
            *numbers,
            columns.n.tolist(),
            columns.lost.tolist(),
            x.tolist(),
            ends,
            missed.tolist(),
            strict=True,
        )
    ]


def read_values(runs: Sequence[int], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run, round and value of every number of that name."""
    ids, sizes, packed = read_columns(VALUES, {"runs": list(runs), "names": list(names)}, (">i8", ">i4", "u1"))
    arrays, rounds, values = decode_numbers(packed.tobytes(), sizes)
    return ids[arrays], rounds, values


def read_columns(query: str, parameters: Mapping[str, Any], types: Sequence[str]) -> list[np.ndarray]:
    """Of a query with one row of bytes; numbers are 64 bits wide afterwards."""
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        columns = [np.frombuffer(column or b"", kind) for column, kind in zip(cursor.fetchone(), types, strict=True)]
    wide = {"i": np.int64, "f": np.float64}
    return [column.astype(wide.get(column.dtype.kind, column.dtype)) for column in columns]


def totals_spent(
    runs: np.ndarray, rounds: np.ndarray, spent: tuple[np.ndarray, np.ndarray, np.ndarray], *, adds_up: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """What each of the runs had spent by each of the rounds, and whether anything was told of that round.

    What does not add up may be without end, which is no place on an axis.
    """
    if not adds_up:
        finite = np.isfinite(spent[2])
        spent = (spent[0][finite], spent[1][finite], spent[2][finite])
    order = np.lexsort(spent[1::-1])
    spent_runs, spent_rounds, amounts = (column[order] for column in spent)
    totals = running_totals(spent_runs, amounts) if adds_up else amounts
    span = max(rounds.max(initial=0), spent_rounds.max(initial=0)) + 1
    keys, sought = spent_runs * span + spent_rounds, runs * span + rounds
    last = np.searchsorted(keys, sought, side="right") - 1
    known = np.isin(sought, keys)
    return np.where(known, totals[last] if len(totals) else 0.0, 0.0), known


def running_totals(runs: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Of each run by itself; its amounts stand together, in the order of its rounds."""
    of_each_run = np.split(amounts.astype(np.longdouble), np.flatnonzero(np.diff(runs)) + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([np.cumsum(each) for each in of_each_run]).astype(np.float64)


def metric_names(*, runs: Sequence[int]) -> list[str]:
    """The metrics that some of these runs have; callers pass a few runs, because every block of theirs is looked at."""
    return list(Curve.objects.filter(run_id__in=list(runs)).order_by("name").values_list("name", flat=True).distinct())
