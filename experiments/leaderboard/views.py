"""The leaderboard's page. Data set, partition and metric stand in its address."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from experiments.core.json_values import plain_text
from experiments.labels.metrics import metric_label
from experiments.leaderboard.charts import spread_marks
from experiments.leaderboard.selectors import ENOUGH_SEEDS, METRICS, leaderboard
from experiments.studies.selectors.study_list import dataset_counts

LEFT_OUT_SHOWN = 12


def leaderboard_page(request: HttpRequest) -> HttpResponse:
    data = {key: plain_text(str(value)).strip() for key, value in request.GET.items()}
    metric = data.get("metric") if data.get("metric") in METRICS else METRICS[0]
    board = leaderboard(
        dataset=data.get("dataset", ""),
        partition=data.get("partition", ""),
        metric=str(metric),
        key=data.get("conditions", ""),
    )
    label = metric_label(board.metric)
    everything = "all" in data
    context = {
        "board": board,
        "metric": label,
        "metrics": [metric_label(name) for name in METRICS],
        "datasets": dataset_counts(),
        "marks": spread_marks([row.statistics for row in board.rows]),
        "enough": ENOUGH_SEEDS,
        "left_out": board.left_out if everything else board.left_out[:LEFT_OUT_SHOWN],
        "hidden": 0 if everything else max(0, len(board.left_out) - LEFT_OUT_SHOWN),
    }
    return render(request, "pages/leaderboard.html", context)
