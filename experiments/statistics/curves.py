"""Curves and final values over the seeds of cells: every stored value counts, and the database does the arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Q, QuerySet

from experiments.models import Membership, Metric
from experiments.statistics.over_seeds import Column, SeedStatistics, over_seeds

NOT_FINITE = Q(value__in=[float("nan"), float("inf"), float("-inf")])
WHOLE, REAL = ("round", "n", "lost"), ("x", "mean", "std", "low", "high")
# Each cell's columns travel as bytes: to read thousands of rows of text takes longer than to compute them.
COLUMNS = ", ".join(
    f"string_agg({sent}, ''::bytea ORDER BY round)"
    for sent in [
        *(f"int4send({name})" for name in WHOLE),
        *(f"float8send(coalesce({name}, 'NaN'))" for name in REAL),
        "own",
    ]
)
# Cells travel as their place in the list: grouping by their 64 characters would cost more than the arithmetic. OFFSET 0
# keeps PostgreSQL from joining anew for every aggregate.
CURVES = """
    SELECT selected.cell, run.seed, metric.round, metric.value, {total} AS total
    FROM unnest(%(runs)s::bigint[], %(cells)s::int[]) AS selected(run, cell)
    JOIN experiments_run run ON run.id = selected.run
    JOIN experiments_metric metric ON metric.run_id = selected.run
    {spent}
    WHERE metric.name = %(metric)s OFFSET 0
"""
# What a run has spent up to a round; the mean over seeds is the curve's place on such an axis.
SPENT = """
    JOIN (
        SELECT run_id, round, sum(sum(value)) OVER (PARTITION BY run_id ORDER BY round) AS total
        FROM experiments_metric WHERE name = ANY(%(spent)s) AND run_id = ANY(%(runs)s) GROUP BY run_id, round
    ) spent ON spent.run_id = metric.run_id AND spent.round = metric.round
"""
X = Column("avg(total)", "avg(x)")
OWN_VALUES = Column("NULL::bytea", "string_agg(float8send(value), ''::bytea ORDER BY seed)")
NO_VALUES = Column("NULL::bytea", "NULL::bytea")
FINALS = """
    SELECT member.study_id, run.cell, run.seed, metric.round, metric.value
    FROM experiments_membership member
    JOIN experiments_run run ON run.id = member.run_id AND run.state = 'done'
    JOIN experiments_metric metric
        ON metric.run_id = run.id AND metric.name = %(metric)s AND metric.round = run.rounds_done
    WHERE member.study_id = ANY(%(studies)s)
"""
FINAL_STATISTICS = over_seeds(FINALS, by="study_id, cell", further={"last": Column("max(round)", "max(last)")})


def runs_of(studies: Iterable[int]) -> QuerySet[Membership, Any]:
    """As a subquery of ids, so that a run that several of the studies hold counts once."""
    return Membership.objects.filter(study_id__in=list(studies)).order_by().values("run_id")


def runs_by_cell(*, studies: Iterable[int], cells: Sequence[str]) -> dict[str, list[int]]:
    """Each cell's runs in these studies, in the order of the cells."""
    members = Membership.objects.filter(study_id__in=list(studies), run__cell__in=list(cells)).order_by("run_id")
    runs: dict[str, list[int]] = {cell: [] for cell in cells}
    for cell, run in members.values_list("run__cell", "run_id").distinct():
        runs[cell].append(run)
    return runs


def curve_statistics(
    *, cells: Mapping[str, Sequence[int]], metric: str, spent: Sequence[str] = (), with_values: bool = False
) -> list[SeedStatistics]:
    """`cells` has each cell's runs. `spent` names the metrics that add up to the x axis: by default, the round."""
    values = CURVES.format(total="spent.total" if spent else "metric.round::float8", spent=SPENT if spent else "")
    points = over_seeds(values, by="cell, round", further={"x": X, "own": OWN_VALUES if with_values else NO_VALUES})
    pairs = [(run, place) for place, runs in enumerate(cells.values()) for run in runs]
    runs, places = [run for run, _ in pairs], [place for _, place in pairs]
    keys = list(cells)
    with connection.cursor() as cursor:
        query = f"SELECT cell, {COLUMNS} FROM ({points}) points GROUP BY cell ORDER BY cell"
        cursor.execute(query, {"metric": metric, "runs": runs, "cells": places, "spent": list(spent)})
        return [point for cell, *columns in cursor.fetchall() for point in points_of(keys[cell], columns)]


def points_of(cell: str, columns: Sequence[memoryview | None]) -> list[SeedStatistics]:
    """One cell's points from its columns as bytes."""
    rounds, counts, lost = (np.frombuffer(column or b"", ">i4").tolist() for column in columns[:3])
    x, *real, seeds = (np.frombuffer(column or b"", ">f8").tolist() for column in columns[3:])
    mean, std, low, high = ([None if value != value else value for value in column] for column in real)
    ends = list(accumulate(counts)) if seeds else [0] * len(counts)
    own = [tuple(seeds[end - count : end]) if end else () for count, end in zip(counts, ends, strict=True)]
    return [
        SeedStatistics(cell, *point) for point in zip(rounds, mean, std, low, high, counts, lost, x, own, strict=True)
    ]


def final_statistics(*, studies: Sequence[int], metric: str) -> dict[int, dict[str, SeedStatistics]]:
    """Per study and cell: the last round's value of its finished seeds, which may end at different rounds."""
    finals: dict[int, dict[str, SeedStatistics]] = {study: {} for study in studies}
    with connection.cursor() as cursor:
        cursor.execute(FINAL_STATISTICS, {"studies": list(studies), "metric": metric})
        for study, cell, mean, std, low, high, n, lost, last in cursor.fetchall():
            finals[study][cell] = SeedStatistics(cell, last, mean, std, low, high, n, lost, float(last))
    return finals


def best_finals(*, studies: Sequence[int], metric: str = "accuracy") -> dict[int, SeedStatistics]:
    """Per study: the finished cell with the highest mean."""
    best: dict[int, SeedStatistics] = {}
    for study, cells in final_statistics(studies=studies, metric=metric).items():
        known = [(cell.mean, cell) for cell in cells.values() if cell.mean is not None]
        if known:
            best[study] = max(known, key=lambda each: each[0])[1]
    return best


def metric_names(*, runs: Sequence[int]) -> list[str]:
    """The metrics that some of these runs have; callers pass a few runs, because every row of theirs is looked at."""
    return list(Metric.objects.filter(run_id__in=list(runs)).order_by("name").values_list("name", flat=True).distinct())
