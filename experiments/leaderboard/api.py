"""GET /leaderboard: the best cell of every strategy on a data set."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from experiments.api.schemas import error_responses
from experiments.core.json_values import json_safe, plain_text
from experiments.labels.metrics import metric_label
from experiments.leaderboard.schemas import LeaderboardAnswer, leaderboard_answer
from experiments.leaderboard.selectors import leaderboard

router = Router(tags=["compare"])


class LeaderboardQuery(Schema):
    dataset: str = Field(
        "", max_length=100, description="Which data set; empty: the one most studies are about.", examples=["digits"]
    )
    partition: str = Field(
        "",
        max_length=300,
        description="A partition by name, or with its parameters as an answer has it; empty: the one most tried.",
        examples=["iid"],
    )
    metric: str = Field("accuracy", max_length=100, description="Which number.", examples=["accuracy"])
    conditions: str = Field(
        "",
        max_length=64,
        description="The key of other conditions, from `left_out`: those cells are ranked instead.",
        examples=["9c41d2e07a"],
    )


@router.get(
    "/leaderboard",
    response={200: LeaderboardAnswer, **error_responses()},
    summary="Which strategy is best on a data set",
    operation_id="leaderboard",
)
def read_leaderboard(request: HttpRequest, query: Query[LeaderboardQuery]) -> Any:
    """The best cell of every strategy over all studies that are not archived: mean and std over its seeds at the last
    round. Only cells with the same task, evaluation and rounds are ranked together; `comparable` says which these are,
    and `left_out` what is not among them and why.
    """
    metric = plain_text(query.metric)
    board = leaderboard(
        dataset=plain_text(query.dataset),
        partition=plain_text(query.partition),
        metric=metric,
        key=plain_text(query.conditions),
    )
    return json_safe(leaderboard_answer(board, higher=metric_label(metric).higher_is_better))
