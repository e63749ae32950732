"""The leaderboard of a data set: cells of all studies, told apart by what makes them comparable, ranked over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from experiments.labels.axes import sort_axes
from experiments.labels.metrics import metric_label
from experiments.labels.names import component_label, component_name, method_label, method_slug
from experiments.leaderboard.conditions import (
    Conditions,
    condition_words,
    conditions_of,
    partition_key,
    settings_text,
)
from experiments.leaderboard.logged_conditions import (
    logged_condition_words,
    logged_conditions,
    logged_method,
    logged_method_label,
    logged_settings,
    stated_name,
    stated_partition,
)
from experiments.models import Run, Study
from experiments.results.models import LAUNCHED_WITH
from experiments.statistics.finals import cell_finals
from experiments.statistics.over_seeds import SeedStatistics, best_complete
from experiments.studies.selectors.cells import Cell, cells_of
from experiments.studies.selectors.study_list import about_dataset, dataset_counts
from workers.spec import is_logged

ENOUGH_SEEDS = 3
"""Fewer are shown and marked, and have no rank: a spread of one or two seeds says next to nothing."""
METRICS = ("accuracy", "loss", "f1", "client_accuracy_mean", "client_accuracy_worst10")


@dataclass(frozen=True)
class LeaderboardRow:
    """A strategy by its best cell; `cells` is how many of its cells it is the best of."""

    rank: int | None
    strategy: str
    label: str
    statistics: SeedStatistics
    settings: str
    cells: int
    cell: Cell
    study: Study

    @property
    def few(self) -> bool:
        return self.statistics.n < ENOUGH_SEEDS


@dataclass(frozen=True)
class LeftOut:
    """Cells that are not ranked, and why; `key` names their own conditions, under which they can be ranked."""

    reasons: tuple[str, ...]
    strategies: int
    cells: int
    key: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """`words` says under which conditions the rows are comparable; empty where there is nothing to compare.

    `partitions` has every partition of the data set by its key, with its words; `archived` counts the studies on it
    that are put away, of which nothing is here.
    """

    dataset: str
    partition: str
    metric: str
    partitions: Mapping[str, str]
    left_out: Sequence[LeftOut]
    archived: int
    key: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[LeaderboardRow] = ()


Groups = Mapping[Conditions, Sequence[Cell]]


@dataclass(frozen=True)
class RunFacts:
    """The checksum of the data that it was launched with, empty where it was not written down; its last round."""

    data: str
    rounds: int


Facts = Mapping[int, RunFacts]
"""By run."""


def leaderboard(*, dataset: str = "", partition: str = "", metric: str = "accuracy", key: str = "") -> Leaderboard:
    """Of the conditions with that key; otherwise of those under which most strategies can be ranked, and were tried.

    `dataset` defaults to the one that most studies are about, `partition` to any; a partition's name alone stands for
    all its parameters.
    """
    dataset = dataset or next(iter(dataset_counts()), "")
    cells = dataset_cells(dataset)
    done, chosen = [cell for cell in cells if cell.done], [cell for cell in cells if is_of_partition(cell, partition)]
    facts = run_facts(done)
    groups = group_by_conditions([cell for cell in chosen if cell.done], facts)
    board = Leaderboard(
        dataset,
        partition,
        metric,
        partition_labels(done),
        unfinished_cells([cell for cell in chosen if not cell.done]),
        Study.objects.filter(about_dataset(dataset), archived__isnull=False).count(),
    )
    shown = next((each for each in groups if each.key == key), None) or most_compared(groups)
    if shown is None:
        return board
    rows, unranked = rank_strategies(groups[shown], metric)
    return replace(
        board,
        partition=cell_partition(groups[shown][0]),
        key=shown.key,
        words=group_words(groups[shown], facts),
        rows=rows,
        left_out=[*unranked, *other_conditions(groups, shown, facts), *board.left_out],
    )


def partition_labels(cells: Sequence[Cell]) -> dict[str, str]:
    """The words of every partition by its key; numbers in the order of their size, the partition tried first first."""
    flat = {cell.key: cell.flat for cell in cells if not is_logged(cell.spec)}
    words = {key: component_label("partition", row) for key, row in flat.items()}
    keys = {cell.key: cell_partition(cell) for cell in cells}
    computed = {keys[cell]: label for cell, label in sort_axes({"partition": words}, flat)["partition"].items()}
    return computed | {key: key for key in sorted(set(keys.values()) - computed.keys())}


def dataset_cells(dataset: str) -> list[Cell]:
    """Of all studies but archived ones, in the order of the studies and their grids."""
    studies = Study.objects.filter(about_dataset(dataset), archived=None).order_by("pk").values_list("pk", flat=True)
    cells = cells_of(studies=list(studies))
    return [cell for cell in cells if cell_dataset(cell) == dataset]


def cell_dataset(cell: Cell) -> str:
    return stated_name(cell.spec, "dataset") if is_logged(cell.spec) else str(cell.flat.get("dataset", ""))


def cell_partition(cell: Cell) -> str:
    return stated_partition(cell.spec) if is_logged(cell.spec) else partition_key(cell.spec["partition"])


def cell_method(cell: Cell) -> str:
    return logged_method(cell.spec) if is_logged(cell.spec) else method_slug(cell.spec)


def run_facts(cells: Sequence[Cell]) -> dict[int, RunFacts]:
    """Of each cell's first run."""
    runs = Run.objects.filter(pk__in=[cell.first_run for cell in cells])
    rows = runs.values_list("pk", f"provenance__{LAUNCHED_WITH}__data", "rounds_done")
    return {run: RunFacts(str(data or ""), rounds) for run, data, rounds in rows}


def is_of_partition(cell: Cell, partition: str) -> bool:
    own = cell_partition(cell)
    return partition in ("", own.partition(",")[0], own)


def group_by_conditions(cells: Sequence[Cell], facts: Facts) -> dict[Conditions, list[Cell]]:
    groups: dict[Conditions, list[Cell]] = {}
    for cell in cells:
        if known := facts.get(cell.first_run):  # not deleted meanwhile
            logged = is_logged(cell.spec)
            same = logged_conditions(cell.spec, known.rounds) if logged else conditions_of(cell.spec, known.data)
            groups.setdefault(same, []).append(cell)
    return groups


def most_compared(groups: Groups) -> Conditions | None:
    def comparable(conditions: Conditions) -> tuple[int, int, int]:
        cells = groups[conditions]
        enough = [cell for cell in cells if cell.done >= ENOUGH_SEEDS]
        return count_strategies(enough), count_strategies(cells), len(cells)

    return max(groups, key=comparable, default=None)


def count_strategies(cells: Sequence[Cell]) -> int:
    return len({cell_method(cell) for cell in cells})


def rank_strategies(cells: Sequence[Cell], metric: str) -> tuple[list[LeaderboardRow], list[LeftOut]]:
    """The best cell of every strategy, the best of them first; and the strategies whose best cell cannot be told."""
    higher = metric_label(metric).higher_is_better
    finals = cell_finals(cells=[cell.key for cell in cells], metric=metric)
    studies = Study.objects.select_related("owner").in_bulk({cell.study for cell in cells})
    by_strategy: dict[str, list[Cell]] = {}
    for cell in cells:
        by_strategy.setdefault(cell_method(cell), []).append(cell)
    rows, left_out = [], []
    for strategy, own in by_strategy.items():
        candidates = {cell.key: cell for cell in own if cell.key in finals and cell.study in studies}
        best = best_candidate({key: finals[key] for key in candidates}, higher=higher)
        if best is None:
            left_out.append(unranked_strategy(strategy, candidates, own, metric))
            continue
        cell = candidates[best]
        row = LeaderboardRow(
            None,
            strategy,
            logged_method_label(cell.spec) if is_logged(cell.spec) else method_label(cell.flat),
            finals[best],
            logged_settings(cell.spec) if is_logged(cell.spec) else settings_text(cell.spec),
            len(candidates),
            cell,
            studies[cell.study],
        )
        rows.append(row)
    rows.sort(key=lambda row: row.statistics.mean or 0.0, reverse=higher)
    return with_ranks(rows), left_out


def with_ranks(rows: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    """The best first. Equal means share a rank, and the next one counts them all: 1, 1, 3."""
    means = [row.statistics.mean for row in rows if not row.few]
    return [row if row.few else replace(row, rank=means.index(row.statistics.mean) + 1) for row in rows]


def best_candidate(finals: Mapping[str, SeedStatistics], *, higher: bool) -> str | None:
    """Of cells with enough seeds where there are some; a lucky single seed is no result."""
    enough = {key: each for key, each in finals.items() if each.n + each.lost + each.missed >= ENOUGH_SEEDS}
    return best_complete(enough or finals, higher=higher)


def unranked_strategy(strategy: str, candidates: Mapping[str, Cell], own: Sequence[Cell], metric: str) -> LeftOut:
    name, method = metric_label(metric).text.lower(), component_name("strategy", strategy)
    reason = (
        f"{method}: a cell that may be its best lost a seed (diverged, failed, cancelled): the best cannot be told"
        if candidates
        else f"{method}: its finished runs have no {name}"
    )
    return LeftOut((reason,), 1, len(own))


def other_conditions(groups: Groups, shown: Conditions, facts: Facts) -> list[LeftOut]:
    """Those that are nearest to what is shown first."""
    words = group_words(groups[shown], facts)
    others = [
        LeftOut(
            difference_words(each.differing(shown), group_words(group, facts), words),
            count_strategies(group),
            len(group),
            each.key,
        )
        for each, group in groups.items()
        if each != shown
    ]
    return sorted(others, key=lambda each: (len(each.reasons), -each.strategies, -each.cells))


def group_words(cells: Sequence[Cell], facts: Facts) -> dict[str, str]:
    spec, known = cells[0].spec, facts[cells[0].first_run]
    return logged_condition_words(spec, known.rounds) if is_logged(spec) else condition_words(spec, known.data)


def difference_words(names: Sequence[str], here: Mapping[str, str], shown: Mapping[str, str]) -> tuple[str, ...]:
    """ "80 rounds instead of 40 rounds"; a script may say the same in other words."""
    return tuple(f"{here[name]} instead of {shown[name]}" for name in names if here[name] != shown[name])


def unfinished_cells(cells: Sequence[Cell]) -> list[LeftOut]:
    return [LeftOut(("no run of them is done yet",), count_strategies(cells), len(cells))] if cells else []
