"""The last values of finished runs over the seeds of cells, the best cell of a study, and its curve in few points.

Columns travel as bytes and are computed with as such: a study may have ten thousand runs, and home shows many studies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from experiments.results.models import BLOCK_ROUNDS
from experiments.statistics.curves import read_columns
from experiments.statistics.over_seeds import SeedStatistics, best_complete, differs, over_seeds, reduce_each

CELL_LETTERS = 64
NO_VALUE = -1
ENDED, DONE, UNENDED = range(3)
CURVE_POINTS = 32
# A run counts once in each group. Groups and runs come in the order in which they were made.
FINALS = f"""
    SELECT string_agg(int8send(study), ''::bytea),
        string_agg(convert_to(rpad(cell, {CELL_LETTERS}), 'UTF8'), ''::bytea), string_agg(int8send(seed), ''::bytea),
        string_agg(int4send(state), ''::bytea), string_agg(int4send(round), ''::bytea),
        string_agg(float8send(value), ''::bytea)
    FROM (
        SELECT {{study}} AS study, run.cell, run.seed,
            CASE WHEN curve.run_id IS NULL THEN {NO_VALUE} ELSE run.rounds_done END AS round,
            coalesce(curve.numbers[run.rounds_done], 0) AS value,
            CASE WHEN run.state = 'done' THEN {DONE} WHEN run.state IN ('queued', 'running') THEN {UNENDED}
                ELSE {ENDED} END AS state
        FROM {{runs}}
        LEFT JOIN experiments_curve curve ON run.state = 'done'
            AND curve.run_id = run.id AND curve.name = %(metric)s AND curve.block = run.rounds_done / {BLOCK_ROUNDS}
            AND curve.numbers[run.rounds_done] IS NOT NULL
        WHERE {{which}} ORDER BY run.id
    ) AS rows
"""
FINALS_IN_STUDIES = FINALS.format(
    study="member.study_id",
    runs="experiments_membership member JOIN experiments_run run ON run.id = member.run_id",
    which="member.study_id = ANY(%(studies)s)",
)
FINALS_OF_CELLS = FINALS.format(
    study="0",
    runs="experiments_run run",
    which="""run.cell = ANY(%(cells)s) AND EXISTS (
        SELECT FROM experiments_membership member JOIN experiments_study study ON study.id = member.study_id
        WHERE member.run_id = run.id AND study.archived IS NULL
    )""",
)
# Every so many rounds, so that a curve has about as many points as a small picture can show.
FEW_POINTS = """
    SELECT string_agg(int8send(study_id), ''::bytea), string_agg(int4send(round), ''::bytea),
        string_agg(int8send(seed), ''::bytea), string_agg(float8send(value), ''::bytea)
    FROM (
        SELECT member.study_id, metric.round, run.seed, metric.value
        FROM unnest(%(studies)s::bigint[], %(cells)s::text[]) AS best(study, cell)
        JOIN experiments_run run ON run.cell = best.cell
        JOIN experiments_membership member ON member.run_id = run.id AND member.study_id = best.study
        JOIN experiments_metric metric ON metric.run_id = run.id AND metric.name = %(metric)s
            AND metric.round %% greatest(1, run.rounds_total / %(points)s) = 0
    ) AS points
"""


@dataclass(frozen=True)
class FinalValues:
    """A row for each run. Its group is a place in `keys`: a study and a cell; its round, -1 where it has no value."""

    keys: list[tuple[int, str]]
    groups: np.ndarray
    seeds: np.ndarray
    states: np.ndarray
    rounds: np.ndarray
    values: np.ndarray

    @property
    def with_value(self) -> np.ndarray:
        known: np.ndarray = self.rounds != NO_VALUE
        return known


def final_statistics(*, studies: Sequence[int], metric: str) -> dict[int, dict[str, SeedStatistics]]:
    """Per study and cell: the last round's value of its finished seeds, which may end at different rounds."""
    finals: dict[int, dict[str, SeedStatistics]] = {study: {} for study in studies}
    table = read_finals(FINALS_IN_STUDIES, studies=list(studies), metric=metric)
    for (study, cell), statistics in group_statistics(table).items():
        finals[study][cell] = statistics
    return finals


def cell_finals(*, cells: Sequence[str], metric: str) -> dict[str, SeedStatistics]:
    """The same of cells, whichever studies hold their runs; runs that only archived studies hold do not count."""
    table = read_finals(FINALS_OF_CELLS, cells=list(cells), metric=metric)
    return {cell: statistics for (_, cell), statistics in group_statistics(table).items()}


def best_finals(*, studies: Sequence[int], metric: str = "accuracy") -> dict[int, SeedStatistics]:
    return best_of(final_statistics(studies=studies, metric=metric))


def best_of(finals: Mapping[int, Mapping[str, SeedStatistics]]) -> dict[int, SeedStatistics]:
    """Per study: the finished cell with the highest mean, where it can be told."""
    best = {study: best_complete(cells, higher=True) for study, cells in finals.items()}
    return {study: finals[study][cell] for study, cell in best.items() if cell is not None}


def read_finals(query: str, **parameters: Any) -> FinalValues:
    studies, cells, seeds, states, rounds, values = read_columns(
        query, parameters, (">i8", f"S{CELL_LETTERS}", ">i8", ">i4", ">i4", ">f8")
    )
    names, cell_places = np.unique(cells, return_inverse=True)
    numbers, study_places = np.unique(studies, return_inverse=True)
    codes, first, places = np.unique(
        study_places * max(1, len(names)) + cell_places, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    keys = [
        (int(numbers[code // len(names)]), names[code % len(names)].decode().rstrip()) for code in codes[order].tolist()
    ]
    return FinalValues(keys, np.argsort(order)[places], seeds, states, rounds, values)


def group_statistics(table: FinalValues) -> dict[tuple[int, str], SeedStatistics]:
    """Groups of which nothing has ended are left out, and so are those whose done runs have no such number."""
    here = table.with_value
    groups, rounds = table.groups[here], table.rounds[here]
    columns = over_seeds(groups, table.seeds[here], table.values[here], np.zeros(len(groups), bool))
    missed = missed_seeds(table)
    done = np.bincount(table.groups[table.states == DONE], minlength=len(table.keys))
    last = np.zeros(len(table.keys), np.int64)
    np.maximum.at(last, groups, rounds)
    statistics: dict[int, SeedStatistics] = {
        group: SeedStatistics(table.keys[group][1], 0, None, None, None, None, 0, 0, missed=count)
        for group, count in enumerate(missed.tolist())
        if count and not done[group]
    }
    ends, values = list(accumulate(columns.n.tolist())), columns.values.tolist()
    numbers = [[None if value != value else value for value in column.tolist()] for column in columns[1:5]]
    for group, mean, std, low, high, n, lost, end in zip(
        groups[columns.first].tolist(), *numbers, columns.n.tolist(), columns.lost.tolist(), ends, strict=True
    ):
        at = int(last[group])
        statistics[group] = SeedStatistics(
            *(table.keys[group][1], at, mean, std, low, high, n, lost, float(at), tuple(values[end - n : end])),
            missed=int(missed[group]),
        )
    return {table.keys[group]: statistics[group] for group in sorted(statistics)}


def missed_seeds(table: FinalValues) -> np.ndarray:
    """How many seeds of each group have no run to wait for, and none with a value."""
    order = np.lexsort((table.seeds, table.groups))
    groups, seeds = table.groups[order], table.seeds[order]
    starts = np.flatnonzero(differs(groups) | differs(seeds))
    may_count = table.with_value | (table.states == UNENDED)
    missed = reduce_each(np.maximum, may_count[order].astype(np.int64), starts) == 0
    return np.bincount(groups[starts][missed], minlength=len(table.keys))


def small_curves(*, cells: Mapping[int, str], metric: str = "accuracy") -> dict[int, list[float | None]]:
    """Per study: the mean curve of one of its cells in few points; None where no seed has a finite value."""
    parameters = {"studies": list(cells), "cells": list(cells.values()), "metric": metric, "points": CURVE_POINTS}
    studies, rounds, seeds, values = read_columns(FEW_POINTS, parameters, (">i8", ">i4", ">i8", ">f8"))
    lines = studies * (int(rounds.max(initial=0)) + 1) + rounds
    columns = over_seeds(lines, seeds, values, np.zeros(len(lines), bool))
    curves: dict[int, list[float | None]] = {}
    for study, mean in zip(studies[columns.first].tolist(), columns.mean.tolist(), strict=True):
        curves.setdefault(study, []).append(None if mean != mean else mean)
    return curves
