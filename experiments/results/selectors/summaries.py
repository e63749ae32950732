"""A study in a table: means over the runs that share some fields, at some rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import F

from experiments.labels.metrics import metric_label
from experiments.models import Metric, Run, RunState
from experiments.statistics.over_seeds import Sample, Seed, best_complete, merge_seeds, with_missing_seeds
from workers.spec import flatten, varying_paths

Group = tuple[Any, ...]


class MemberRun(NamedTuple):
    pk: int
    spec: dict[str, Any]
    cell: str
    seed: int
    state: str


class MeasuredRun(NamedTuple):
    run: int
    round: int
    value: float


@dataclass(frozen=True)
class GroupStatistics:
    """`std` has ddof 1, None below two seeds; `lost` seeds diverged, `missed` ones ended without a value.

    `best` is the best mean at its round, of groups that lost no seed.
    """

    group: dict[str, Any]
    round: int
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    n: int
    lost: int
    missed: int = 0
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
    runs = {
        run.pk: run for run in (MemberRun(*row) for row in members.values_list("pk", "spec", "cell", "seed", "state"))
    }
    paths = list(dict.fromkeys(by)) or varying_paths([run.spec for run in runs.values()])
    groups = {run.pk: group_of(run.spec, paths) for run in runs.values()}
    values = run_values(list(runs), metric, rounds)
    higher = metric_label(metric).higher_is_better
    at_rounds: list[int | None] = [*sorted(set(rounds))] or [None]
    tables = [samples_at(values, runs, groups, each) for each in at_rounds]
    return Summary(paths, [row for table in tables for row in summary_rows(table, paths, higher=higher)])


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
    return [MeasuredRun(*row) for row in values.values_list("run_id", "round", "value")]


class GroupSample(NamedTuple):
    round: int
    sample: Sample


def samples_at(
    values: Iterable[MeasuredRun], runs: Mapping[int, MemberRun], groups: Mapping[int, Group], round_number: int | None
) -> dict[Group, GroupSample]:
    """In the order of the grid; without a round, every round counts as the last. What a group averages over are the
    seeds of each of its cells."""
    seeds: dict[Group, dict[Seed, list[float | None]]] = {group: {} for group in groups.values()}
    rounds: dict[Group, int] = {}
    for each in values:
        if round_number is None or each.round == round_number:
            run, group = runs[each.run], groups[each.run]
            seeds[group].setdefault((run.cell, run.seed), []).append(each.value)
            rounds[group] = max(rounds.get(group, 0), each.round)
    if not rounds:
        return {}
    states: dict[Group, list[tuple[Seed, str]]] = {group: [] for group in seeds}
    for run in runs.values():
        states[groups[run.pk]].append(((run.cell, run.seed), run.state))
    samples = {group: merge_seeds(with_missing_seeds(known, states[group])) for group, known in seeds.items()}
    latest = max(rounds.values())
    return {
        group: GroupSample(rounds.get(group, latest), sample) for group, sample in samples.items() if sample.every_seed
    }


def summary_rows(table: Mapping[Group, GroupSample], paths: Sequence[str], *, higher: bool) -> list[GroupStatistics]:
    best = best_complete({group: each.sample for group, each in table.items()}, higher=higher)
    best_mean = None if best is None else table[best].sample.mean
    return [
        GroupStatistics(
            group=dict(zip(paths, group, strict=True)),
            round=number,
            mean=sample.mean,
            std=sample.std,
            low=sample.low,
            high=sample.high,
            n=sample.n,
            lost=sample.lost,
            missed=sample.missed,
            best=sample.complete and best_mean is not None and sample.mean == best_mean,
        )
        for group, (number, sample) in table.items()
    ]
