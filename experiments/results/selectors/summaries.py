"""A study in a table: means over the runs that share some fields, at some rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection

from experiments.labels.metrics import metric_label
from experiments.models import Membership
from experiments.results.models import BLOCK_ROUNDS
from experiments.results.selectors.runs import specs_of
from experiments.statistics.over_seeds import Sample, Seed, best_complete, merge_seeds, with_missing_seeds
from workers.spec.paths import varying_flat_paths

AT_LAST_ROUND = f"""
    SELECT run.id, run.rounds_done, curve.numbers[run.rounds_done]
    FROM experiments_membership member JOIN experiments_run run ON run.id = member.run_id AND run.state = 'done'
    JOIN experiments_curve curve ON curve.run_id = run.id AND curve.name = %(metric)s
        AND curve.block = run.rounds_done / {BLOCK_ROUNDS} AND curve.numbers[run.rounds_done] IS NOT NULL
    WHERE member.study_id = %(study)s
"""
AT_ROUNDS = f"""
    SELECT curve.run_id, wanted.round, curve.numbers[wanted.round]
    FROM experiments_membership member JOIN experiments_curve curve ON curve.run_id = member.run_id
    JOIN unnest(%(rounds)s::int[]) AS wanted(round) ON curve.block = wanted.round / {BLOCK_ROUNDS}
    WHERE member.study_id = %(study)s AND curve.name = %(metric)s AND curve.numbers[wanted.round] IS NOT NULL
"""
Group = tuple[Any, ...]


class MemberRun(NamedTuple):
    pk: int
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
    members = Membership.objects.filter(study=study).order_by("position")
    rows = members.values_list("run_id", "run__cell", "run__seed", "run__state")
    runs = {row[0]: MemberRun(*row) for row in rows}
    cells = flat_cells(runs.values())
    paths = list(dict.fromkeys(by)) or varying_flat_paths(list(cells.values()))
    groups = run_groups(runs, cells, paths)
    values = run_values(study, metric, rounds)
    higher = metric_label(metric).higher_is_better
    at_rounds: list[int | None] = [*sorted(set(rounds))] or [None]
    by_round: dict[int | None, list[MeasuredRun]] = {each: [] for each in at_rounds}
    for each in values:
        by_round[each.round if rounds else None].append(each)
    tables = [group_samples(own, runs, groups) for own in by_round.values()]
    return Summary(paths, [row for table in tables for row in summary_rows(table, paths, higher=higher)])


def flat_cells(runs: Iterable[MemberRun]) -> dict[str, Mapping[str, Any]]:
    """One run tells the spec of its cell, but for the seed: a study of thousands of runs has hundreds of cells."""
    first_runs = {run.cell: run.pk for run in reversed(list(runs))}
    specs = specs_of(first_runs.values())
    return {cell: specs[first_runs[cell]].flat for cell in reversed(first_runs) if first_runs[cell] in specs}


def run_groups(
    runs: Mapping[int, MemberRun], cells: Mapping[str, Mapping[str, Any]], paths: Sequence[str]
) -> dict[int, Group]:
    groups = {cell: group_of(flat, paths) for cell, flat in cells.items()}
    if "seed" not in paths:
        return {run.pk: groups[run.cell] for run in runs.values() if run.cell in groups}
    return {
        run.pk: group_of({**cells[run.cell], "seed": run.seed}, paths) for run in runs.values() if run.cell in cells
    }


def group_of(flat: Mapping[str, Any], paths: Sequence[str]) -> Group:
    """Hashable; a parameter that is itself a list is told apart by its content."""
    values = [flat.get(path) for path in paths]
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def run_values(study: int, metric: str, rounds: Sequence[int]) -> list[MeasuredRun]:
    with connection.cursor() as cursor:
        scope: dict[str, Any] = {"study": study, "metric": metric, "rounds": list(set(rounds))}
        cursor.execute(AT_ROUNDS if rounds else AT_LAST_ROUND, scope)
        return [MeasuredRun(*row) for row in cursor.fetchall()]


class GroupSample(NamedTuple):
    round: int
    sample: Sample


def group_samples(
    values: Iterable[MeasuredRun], runs: Mapping[int, MemberRun], groups: Mapping[int, Group]
) -> dict[Group, GroupSample]:
    """In the order of the grid. What a group averages over are the seeds of each of its cells."""
    seeds: dict[Group, dict[Seed, list[float | None]]] = {group: {} for group in groups.values()}
    rounds: dict[Group, int] = {}
    for each in values:
        if each.run in groups:
            run, group = runs[each.run], groups[each.run]
            seeds[group].setdefault((run.cell, run.seed), []).append(each.value)
            rounds[group] = max(rounds.get(group, 0), each.round)
    if not rounds:
        return {}
    states: dict[Group, list[tuple[Seed, str]]] = {group: [] for group in seeds}
    for run in (runs[pk] for pk in groups):
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
