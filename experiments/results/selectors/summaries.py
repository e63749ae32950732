"""A study in a table: means over the runs that share some fields, at some rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.db.models import F

from experiments.labels.metrics import metric_label
from experiments.models import Metric, Run, RunState
from experiments.statistics.over_seeds import Seed, merge_seeds
from workers.spec import flatten, varying_paths

Group = tuple[Any, ...]


class MeasuredRun(NamedTuple):
    run: int
    cell: str
    seed: int
    round: int
    value: float


@dataclass(frozen=True)
class GroupStatistics:
    """`std` has ddof 1, None below two seeds; `lost` runs are not finite; `best` is the best mean at its round."""

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
    values = run_values(list(specs), metric, rounds)
    higher = metric_label(metric).higher_is_better
    at_rounds: list[int | None] = [*sorted(set(rounds))] or [None]
    tables = [rows_at(values, groups, paths, each) for each in at_rounds]
    return Summary(paths, [row for table in tables for row in with_best(table, higher=higher)])


def group_of(spec: Mapping[str, Any], paths: Sequence[str]) -> Group:
    """Hashable; a parameter that is itself a list is told apart by its content."""
    flat = flatten(spec)
    values = [flat.get(path) for path in paths]
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def run_values(runs: Sequence[int], metric: str, rounds: Sequence[int]) -> list[MeasuredRun]:
    values = Metric.objects.filter(run_id__in=runs, name=metric)
    if rounds:
        values = values.filter(round__in=list(rounds))
    else:
        values = values.filter(run__state=RunState.DONE, round=F("run__rounds_done"))
    return [MeasuredRun(*row) for row in values.values_list("run_id", "run__cell", "run__seed", "round", "value")]


def rows_at(
    values: Iterable[MeasuredRun], groups: Mapping[int, Group], paths: Sequence[str], round_number: int | None
) -> list[GroupStatistics]:
    """One row per group that has values, in the order of the grid; without a round, every round counts as the last."""
    by_group: dict[Group, list[MeasuredRun]] = {group: [] for group in groups.values()}
    for each in values:
        if round_number is None or each.round == round_number:
            by_group[groups[each.run]].append(each)
    return [group_statistics(dict(zip(paths, group, strict=True)), each) for group, each in by_group.items() if each]


def group_statistics(group: dict[str, Any], values: Sequence[MeasuredRun]) -> GroupStatistics:
    """A group may hold several cells; what it averages over are the seeds of each."""
    seeds: dict[Seed, list[float | None]] = {}
    for each in values:
        seeds.setdefault((each.cell, each.seed), []).append(each.value)
    sample = merge_seeds(seeds)
    return GroupStatistics(
        group=group,
        round=max(each.round for each in values),
        mean=sample.mean,
        std=sample.std,
        low=sample.low,
        high=sample.high,
        n=sample.n,
        lost=sample.lost,
    )


def with_best(rows: Sequence[GroupStatistics], *, higher: bool) -> list[GroupStatistics]:
    means = [row.mean for row in rows if row.mean is not None]
    best = max(means, default=None) if higher else min(means, default=None)
    return [replace(row, best=row.mean is not None and row.mean == best) for row in rows]
