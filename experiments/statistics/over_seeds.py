"""Means, spreads and counts over a cell's seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from django.db import connection
from django.db.models import Avg, Count, F, Max, Min, Q, QuerySet, StdDev

from experiments.models import Membership, Metric, RunState

NOT_FINITE = Q(value__in=[float("nan"), float("inf"), float("-inf")])
OVER_SEEDS: dict[str, Any] = {
    "mean": Avg("value", filter=~NOT_FINITE),
    "std": StdDev("value", sample=True, filter=~NOT_FINITE),
    "low": Min("value", filter=~NOT_FINITE),
    "high": Max("value", filter=~NOT_FINITE),
    "n": Count("value", filter=~NOT_FINITE),
    "lost": Count("value", filter=NOT_FINITE),
}


@dataclass(frozen=True)
class SeedStatistics:
    """Over the seeds of one cell at one round. `std` has ddof 1 and is None for one seed; `lost` are not finite."""

    cell: str
    round: int
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    n: int
    lost: int


def runs_of(studies: Iterable[int]) -> QuerySet[Membership, Any]:
    """As a subquery of ids, so that a run that several of the studies hold counts once."""
    return Membership.objects.filter(study_id__in=list(studies)).order_by().values("run_id")


def curve_statistics(*, studies: Sequence[int], metric: str, cells: Sequence[str]) -> list[SeedStatistics]:
    values = Metric.objects.filter(name=metric, run_id__in=runs_of(studies), run__cell__in=list(cells))
    grouped = values.values("round", cell=F("run__cell")).annotate(**OVER_SEEDS).order_by("cell", "round")
    return [SeedStatistics(**row) for row in grouped]


def run_curve(*, run: int, metric: str) -> list[SeedStatistics]:
    """One run in the same shape, so that a run page draws with the study page's chart."""
    values = Metric.objects.filter(name=metric, run_id=run)
    grouped = values.values("round", cell=F("run__cell")).annotate(**OVER_SEEDS).order_by("round")
    return [SeedStatistics(**row) for row in grouped]


def final_statistics(*, studies: Sequence[int], metric: str) -> dict[str, SeedStatistics]:
    """Per cell: the last round's value of its finished seeds. Reruns and early stops may end at different rounds."""
    values = Metric.objects.filter(
        name=metric, run_id__in=runs_of(studies), run__state=RunState.DONE, round=F("run__rounds_done")
    )
    grouped = values.values(cell=F("run__cell")).annotate(last=Max("round"), **OVER_SEEDS)
    return {row["cell"]: SeedStatistics(round=row.pop("last"), **row) for row in grouped}


def best_finals(*, studies: Sequence[int], metric: str = "accuracy") -> dict[int, SeedStatistics]:
    """Per study: the finished cell with the highest mean."""
    values = Metric.objects.filter(
        name=metric,
        run__memberships__study__in=list(studies),
        run__state=RunState.DONE,
        round=F("run__rounds_done"),
    )
    grouped = values.values(study=F("run__memberships__study"), cell=F("run__cell"))
    best: dict[int, SeedStatistics] = {}
    for row in grouped.annotate(last=Max("round"), **OVER_SEEDS):
        study, found = row.pop("study"), SeedStatistics(round=row.pop("last"), **row)
        if found.mean is not None and (study not in best or found.mean > (best[study].mean or 0.0)):
            best[study] = found
    return best


def metric_names(*, runs: Sequence[int]) -> list[str]:
    """The metrics that some of these runs have; callers pass a few runs, because every row of theirs is looked at."""
    return list(Metric.objects.filter(run_id__in=list(runs)).order_by("name").values_list("name", flat=True).distinct())


FINITE = "abs(m.value) < 'Infinity'"  # NaN is more than infinity to PostgreSQL
# Values that are not finite become NULL, which aggregates leave out; OFFSET 0 has that done once for all of them.
# Each cell's columns travel as bytes: to read thousands of rows of text takes longer than to compute them.
QUERY = """
    SELECT cell, {columns}
    FROM (
        SELECT cell, round, avg(value) AS mean, stddev_samp(value) AS std, min(value) AS low, max(value) AS high,
            count(value)::int AS n, (count(*) - count(value))::int AS lost, {x} AS x, {seeds} AS seeds
        FROM (
            SELECT p.cell, p.run, m.round, CASE WHEN {finite} THEN m.value END AS value {total}
            FROM unnest(%(runs)s::bigint[], %(cells)s::int[]) AS p(run, cell)
            JOIN experiments_metric m ON m.run_id = p.run
            {spent}
            WHERE m.name = %(metric)s OFFSET 0
        ) measured
        GROUP BY cell, round
    ) points
    GROUP BY cell ORDER BY cell
"""
WHOLE, REAL = ("round", "n", "lost"), ("x", "mean", "std", "low", "high")
COLUMNS = ", ".join(
    f"string_agg({sent}, ''::bytea ORDER BY round)"
    for sent in [
        *(f"int4send({name})" for name in WHOLE),
        *(f"float8send(coalesce({name}, 'NaN'))" for name in REAL),
        "seeds",
    ]
)
SEEDS = "string_agg(float8send(value), ''::bytea ORDER BY run)"
# What a run has spent up to a round; the mean over seeds is the curve's place on such an axis.
SPENT = """
        JOIN (
            SELECT run_id, round, sum(sum(value)) OVER (PARTITION BY run_id ORDER BY round) AS total
            FROM experiments_metric WHERE name = ANY(%(spent)s) AND run_id = ANY(%(runs)s) GROUP BY run_id, round
        ) s ON s.run_id = m.run_id AND s.round = m.round
"""
BY_ROUND = {"x": "round::float8", "total": "", "spent": ""}


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
    axis = {"x": "avg(total)", "total": ", s.total", "spent": SPENT} if spent else BY_ROUND
    query = QUERY.format(**axis, columns=COLUMNS, finite=FINITE, seeds=SEEDS if with_values else "NULL::bytea")
    # Cells travel as their place in the list: grouping by their 64 characters would cost more than the arithmetic.
    pairs = [(run, place) for place, runs in enumerate(cells.values()) for run in runs]
    runs, places = [run for run, _ in pairs], [place for _, place in pairs]
    keys = list(cells)
    with connection.cursor() as cursor:
        cursor.execute(query, {"metric": metric, "runs": runs, "cells": places, "spent": list(spent)})
        return [point for cell, *sent in cursor.fetchall() for point in points_of(keys[cell], sent)]


def points_of(cell: str, sent: Sequence[memoryview | None]) -> list[CurveStatistics]:
    """One cell's points from its columns, in the order of QUERY."""
    rounds, counts, lost = (np.frombuffer(column or b"", ">i4").tolist() for column in sent[:3])
    x, *real, seeds = (np.frombuffer(column or b"", ">f8").tolist() for column in sent[3:])
    mean, std, low, high = ([None if value != value else value for value in column] for column in real)
    ends = list(accumulate(counts)) if seeds else [0] * len(counts)
    own = [tuple(seeds[end - count : end]) if end else () for count, end in zip(counts, ends, strict=True)]
    return [
        CurveStatistics(cell, *point) for point in zip(rounds, mean, std, low, high, counts, lost, x, own, strict=True)
    ]
