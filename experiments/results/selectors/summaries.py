"""A study in a table: means over the runs that share some fields, at some rounds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F

from experiments.labels.metrics import metric_label
from experiments.models import Metric, Run, RunState
from workers.spec import flatten, varying_paths

Group = tuple[Any, ...]


@dataclass(frozen=True)
class GroupStatistics:
    """`std` has ddof 1 and is None below two runs; `lost` runs are not finite; `best` is the best mean at its round."""

    group: dict[str, Any]
    round: int
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    n: int
    lost: int
    best: bool = False


@dataclass(frozen=True)
class Summary:
    by: list[str]
    rows: list[GroupStatistics]


def study_summary(
    *, study: int, metric: str = "accuracy", by: Sequence[str] = (), rounds: Sequence[int] = ()
) -> Summary:
    """Without `by`: by every field in which the study's runs differ. Without `rounds`: each done run's last round."""
    members = Run.objects.filter(memberships__study=study).order_by("memberships__position")
    specs = dict(members.values_list("pk", "spec"))
    paths = list(dict.fromkeys(by)) or varying_paths(specs.values())
    groups = {run: group_of(spec, paths) for run, spec in specs.items()}
    found = values_of(list(specs), metric, rounds)
    higher = metric_label(metric).higher_is_better
    wanted: list[int | None] = [*sorted(set(rounds))] or [None]
    tables = [rows_at(found, groups, paths, each) for each in wanted]
    return Summary(paths, [row for table in tables for row in with_best(table, higher=higher)])


def group_of(spec: Mapping[str, Any], paths: Sequence[str]) -> Group:
    """Hashable; a parameter that is itself a list is told apart by its content."""
    flat = flatten(spec)
    values = [flat.get(path) for path in paths]
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def values_of(runs: Sequence[int], metric: str, rounds: Sequence[int]) -> list[tuple[int, int, float]]:
    values = Metric.objects.filter(run_id__in=runs, name=metric)
    if rounds:
        values = values.filter(round__in=list(rounds))
    else:
        values = values.filter(run__state=RunState.DONE, round=F("run__rounds_done"))
    return list(values.values_list("run_id", "round", "value"))


def rows_at(
    found: Iterable[tuple[int, int, float]], groups: Mapping[int, Group], paths: Sequence[str], wanted: int | None
) -> list[GroupStatistics]:
    """One row per group that has values, in the order of the grid; `wanted` None takes every round as the last one."""
    values: dict[Group, list[tuple[int, float]]] = {group: [] for group in groups.values()}
    for run, number, value in found:
        if wanted is None or number == wanted:
            values[groups[run]].append((number, value))
    return [statistics_of(dict(zip(paths, group, strict=True)), each) for group, each in values.items() if each]


def statistics_of(group: dict[str, Any], values: Sequence[tuple[int, float]]) -> GroupStatistics:
    finite = [value for _, value in values if math.isfinite(value)]
    return GroupStatistics(
        group=group,
        round=max(number for number, _ in values),
        mean=statistics.fmean(finite) if finite else None,
        std=statistics.stdev(finite) if len(finite) > 1 else None,
        low=min(finite, default=None),
        high=max(finite, default=None),
        n=len(finite),
        lost=len(values) - len(finite),
    )


def with_best(rows: Sequence[GroupStatistics], *, higher: bool) -> list[GroupStatistics]:
    means = [row.mean for row in rows if row.mean is not None]
    best = max(means, default=None) if higher else min(means, default=None)
    return [replace(row, best=row.mean is not None and row.mean == best) for row in rows]
