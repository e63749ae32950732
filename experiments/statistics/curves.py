"""Curves and final values over the seeds of cells: every stored value counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from django.db import connection
from django.db.models import Q

from experiments.models import Membership, Metric
from experiments.statistics.over_seeds import (
    Seed,
    SeedColumns,
    SeedStatistics,
    best_complete,
    ended_seeds,
    merge_seeds,
    over_seeds,
    with_missing_seeds,
)

NOT_FINITE = Q(value__in=[float("nan"), float("inf"), float("-inf")])
# Columns travel as bytes: to read thousands of rows of text takes longer than to compute with them.
VALUES = """
    SELECT string_agg(int8send(run_id), ''::bytea), string_agg(int4send(round), ''::bytea),
        string_agg(float8send(value), ''::bytea)
    FROM experiments_metric WHERE run_id = ANY(%(runs)s) AND name = ANY(%(names)s)
"""
RUNS = "SELECT id, seed, state FROM experiments_run WHERE id = ANY(%(runs)s) ORDER BY id"
FINALS = """
    SELECT member.study_id, run.cell, run.seed, run.state, metric.round, metric.value
    FROM experiments_membership member
    JOIN experiments_run run ON run.id = member.run_id
    LEFT JOIN experiments_metric metric ON run.state = 'done'
        AND metric.run_id = run.id AND metric.name = %(metric)s AND metric.round = run.rounds_done
    WHERE member.study_id = ANY(%(studies)s) ORDER BY member.run_id
"""


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
    *, cells: Mapping[str, Sequence[int]], metric: str, spent: Sequence[str] = (), with_values: bool = False
) -> list[SeedStatistics]:
    """`cells` has each cell's runs. `spent` names the metrics that add up to the x axis: by default, the round."""
    table = read_run_seeds({run: place for place, runs in enumerate(cells.values()) for run in runs})
    runs, rounds, values = read_values(table.runs.tolist(), [metric])
    totals = rounds.astype(np.float64)
    if spent:
        totals, known = totals_spent(runs, rounds, read_values(table.runs.tolist(), spent))
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
    with connection.cursor() as cursor:
        cursor.execute(VALUES, {"runs": list(runs), "names": list(names)})
        ids, rounds, values = (column or b"" for column in cursor.fetchone())
    return (
        np.frombuffer(ids, ">i8").astype(np.int64),
        np.frombuffer(rounds, ">i4").astype(np.int64),
        np.frombuffer(values, ">f8").astype(np.float64),
    )


def totals_spent(
    runs: np.ndarray, rounds: np.ndarray, spent: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """What each of the runs had spent by each of the rounds, and whether anything was told of that round."""
    order = np.lexsort(spent[1::-1])
    spent_runs, spent_rounds, amounts = (column[order] for column in spent)
    of_each_run = np.split(amounts.astype(np.longdouble), np.flatnonzero(np.diff(spent_runs)) + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        totals = np.concatenate([np.cumsum(each) for each in of_each_run]).astype(np.float64)
    span = max(rounds.max(initial=0), spent_rounds.max(initial=0)) + 1
    keys, sought = spent_runs * span + spent_rounds, runs * span + rounds
    last = np.searchsorted(keys, sought, side="right") - 1
    known = np.isin(sought, keys)
    return np.where(known, totals[last] if len(totals) else 0.0, 0.0), known


def final_statistics(*, studies: Sequence[int], metric: str) -> dict[int, dict[str, SeedStatistics]]:
    """Per study and cell: the last round's value of its finished seeds, which may end at different rounds."""
    with connection.cursor() as cursor:
        cursor.execute(FINALS, {"studies": list(studies), "metric": metric})
        rows = cursor.fetchall()
    runs: dict[tuple[int, str], list[tuple[Seed, str]]] = {}
    values: dict[tuple[int, str], dict[Seed, list[float | None]]] = {}
    last: dict[tuple[int, str], int] = {}
    for study, cell, seed, state, number, value in rows:
        key = (study, cell)
        runs.setdefault(key, []).append((seed, state))
        if value is not None:
            values.setdefault(key, {}).setdefault(seed, []).append(value)
            last[key] = max(last.get(key, 0), number)
    finals: dict[int, dict[str, SeedStatistics]] = {study: {} for study in studies}
    for key, members in runs.items():
        each = merge_seeds(with_missing_seeds(values.get(key, {}), members))
        if each.every_seed:
            study, cell = key
            finals[study][cell] = SeedStatistics(
                *(cell, last.get(key, 0), each.mean, each.std, each.low, each.high, each.n, each.lost),
                x=float(last.get(key, 0)),
                values=tuple(each.seeds.values()),
                missed=each.missed,
            )
    return finals


def best_finals(*, studies: Sequence[int], metric: str = "accuracy") -> dict[int, SeedStatistics]:
    """Per study: the finished cell with the highest mean, where it can be told."""
    finals = final_statistics(studies=studies, metric=metric)
    best = {study: best_complete(cells, higher=True) for study, cells in finals.items()}
    return {study: finals[study][cell] for study, cell in best.items() if cell is not None}


def metric_names(*, runs: Sequence[int]) -> list[str]:
    """The metrics that some of these runs have; callers pass a few runs, because every row of theirs is looked at."""
    return list(Metric.objects.filter(run_id__in=list(runs)).order_by("name").values_list("name", flat=True).distinct())
