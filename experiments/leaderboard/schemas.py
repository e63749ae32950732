"""The leaderboard as REST answers with it."""

from __future__ import annotations

from typing import Any

from experiments.api.schemas import Answer, Number, example_config
from experiments.leaderboard.selectors import Leaderboard, LeaderboardRow, LeftOut

ROW: dict[str, Any] = {
    "rank": 1,
    "strategy": "fedprox",
    "label": "FedProx (μ = 0.1)",
    "mean": 0.912,
    "std": 0.004,
    "n": 3,
    "few": False,
    "cells": 4,
    "settings": "mu 0.1 · MLP, 50 hidden units · 1 epoch, batches of 32 · sgd · lr 0.01",
    "spec": {"dataset": {"name": "digits"}, "strategy": {"name": "fedprox", "mu": 0.1}},
    "cell": "5f2b7c",
    "study": 12,
    "study_name": "FedProx against FedAvg",
    "owner": "mira",
}
LEFT_OUT: dict[str, Any] = {
    "reasons": ["80 rounds instead of 40 rounds"],
    "strategies": 3,
    "cells": 6,
    "conditions": "9c41d2e07a",
}
BOARD: dict[str, Any] = {
    "dataset": "digits",
    "partition": "label-dirichlet,alpha=0.3,balanced=yes,min_size=10",
    "metric": "accuracy",
    "higher_is_better": True,
    "conditions": "1f0b6a8c55",
    "comparable": {"data": "Digits", "rounds": "40 rounds", "evaluation": "on the test set"},
    "rows": [ROW],
    "left_out": [LEFT_OUT],
    "archived": 1,
    "partitions": ["iid", "label-dirichlet,alpha=0.3,balanced=yes,min_size=10"],
}


class LeaderboardRowAnswer(Answer):
    model_config = example_config(**ROW)

    rank: int | None
    """1 is the best, equal means share one; null where fewer than three seeds are behind the number."""
    strategy: str
    """Its name in the catalog."""
    label: str
    """Its name for readers, with the parameters of its best cell."""
    mean: float
    """Of the last round of each finished run, over the seeds of its best cell."""
    std: Number | None
    """With ddof 1; null for one seed."""
    n: int
    """Seeds behind the mean."""
    few: bool
    """Whether there are fewer than three."""
    cells: int
    """How many cells of the strategy it is the best of. The best of many is a little lucky."""
    settings: str
    """The settings of the best cell, in words."""
    spec: dict[str, Any]
    """The same as a spec, with the seed of one of its runs."""
    cell: str
    """The cell's key."""
    study: int
    """The first study that holds it."""
    study_name: str
    """What that study is called."""
    owner: str
    """Who launched it."""


class LeftOutAnswer(Answer):
    model_config = example_config(**LEFT_OUT)

    reasons: list[str]
    """Why they are not comparable with the rows, or cannot be ranked."""
    strategies: int
    """How many strategies are among them."""
    cells: int
    """How many cells it is about."""
    conditions: str
    """Ask with this key to rank them among each other; empty where that is impossible."""


class LeaderboardAnswer(Answer):
    model_config = example_config(**BOARD)

    dataset: str
    """Which data set; empty where the lab has no study yet."""
    partition: str
    """The partition of the rows, with its parameters."""
    metric: str
    """Which number."""
    higher_is_better: bool
    """Which way is better."""
    conditions: str
    """The key of the conditions that all rows share."""
    comparable: dict[str, str]
    """These conditions in words: only numbers that share all of them are ranked together."""
    rows: list[LeaderboardRowAnswer]
    """The best cell of every strategy, the best first."""
    left_out: list[LeftOutAnswer]
    """What is not among the rows, and why."""
    archived: int
    """Archived studies on this data set, of which nothing counts here."""
    partitions: list[str]
    """The partitions of this data set that have results."""


def leaderboard_answer(board: Leaderboard, *, higher: bool) -> dict[str, Any]:
    return {
        "dataset": board.dataset,
        "partition": board.partition,
        "metric": board.metric,
        "higher_is_better": higher,
        "conditions": board.key,
        "comparable": dict(board.words),
        "rows": [row_answer(row) for row in board.rows],
        "left_out": [left_out_answer(each) for each in board.left_out],
        "archived": board.archived,
        "partitions": list(board.partitions),
    }


def row_answer(row: LeaderboardRow) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "strategy": row.strategy,
        "label": row.label,
        "mean": row.statistics.mean,
        "std": row.statistics.std,
        "n": row.statistics.n,
        "few": row.few,
        "cells": row.cells,
        "settings": row.settings,
        "spec": row.cell.spec,
        "cell": row.cell.key,
        "study": row.study.pk,
        "study_name": row.study.name,
        "owner": row.study.owner.username,
    }


def left_out_answer(each: LeftOut) -> dict[str, Any]:
    return {"reasons": each.reasons, "strategies": each.strategies, "cells": each.cells, "conditions": each.key}
