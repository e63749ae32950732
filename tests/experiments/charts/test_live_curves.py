"""What the browser is given to go on with a chart by itself."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.charts.live_curves import live_state
from experiments.charts.styles import LineStyle
from experiments.labels.metrics import metric_label
from experiments.models import RunState, User
from experiments.statistics.over_seeds import OpenRun, SeedStatistics
from tests.experiments import lab

STYLES = {"a": LineStyle("FedAvg", 0, "solid"), "b": LineStyle("FedProx", 1, "dash")}
POINTS = [
    SeedStatistics("a", 1, 0.5, 0.1, 0.4, 0.6, 2, 0),
    SeedStatistics("a", 0, 0.1, None, 0.1, 0.1, 1, 1),
    SeedStatistics("a", 2, None, None, None, None, 0, 1),
    SeedStatistics("b", 0, 0.2, None, 0.2, 0.2, 1, 0),
]


def test_lines_that_grow_have_their_statistics_by_round_and_others_nothing() -> None:
    runs = [OpenRun(7, "a", 1), OpenRun(8, "a", -1)]
    state = live_state(POINTS, STYLES, metric_label("accuracy"), "std", runs, marked=True, whole=True)
    assert state == {
        "metric": "accuracy",
        "scale": 100.0,
        "digits": 2,
        "lowest": 0.0,
        "highest": 1.0,
        "band": "std",
        "marked": True,
        "whole": True,
        "lines": [
            {
                "label": "FedAvg",
                "hue": 0,
                "dash": "solid",
                "rounds": [0, 1],
                "n": [1, 2],
                "means": [0.1, 0.5],
                "stds": [None, 0.1],
                "lows": [0.1, 0.4],
                "highs": [0.1, 0.6],
            }
        ],
        "runs": {7: ["FedAvg", 1], 8: ["FedAvg", -1]},
    }


def test_where_nothing_grows_or_a_band_needs_all_values_there_is_none() -> None:
    label, runs = metric_label("loss"), [OpenRun(7, "a", 1)]
    assert live_state(POINTS, STYLES, label, "std", [], marked=False, whole=True) is None
    assert live_state(POINTS, STYLES, label, "boot", runs, marked=False, whole=True) is None
    state = live_state(POINTS, STYLES, label, "range", runs, marked=False, whole=False)
    assert state
    assert (state["lowest"], state["highest"], state["whole"]) == (0.0, None, False)


@pytest.mark.django_db
def test_a_studys_figure_names_the_runs_that_are_still_to_end(client: Client, owner: User) -> None:
    """Six runs: one done, one at round 1, one with the first round, three that wait; smoothed curves are drawn anew."""
    study = lab.launched(owner)
    first, second, third, *waiting = lab.runs_in_order(study)
    lab.record(first, {"accuracy": [0.1, 0.5, 0.9]})
    lab.record(second, {"accuracy": [0.2, 0.6]}, RunState.RUNNING)
    lab.record(third, {"accuracy": [0.3]}, RunState.RUNNING)
    client.force_login(owner)

    live = client.get(f"/studies/{study.pk}/figure").json()["live"]
    last = {str(run.pk): number for run, number in ((second, 1), (third, 0), *((each, -1) for each in waiting))}
    assert {run: place[1] for run, place in live["runs"].items()} == last
    assert [(line["label"], line["rounds"], line["n"]) for line in live["lines"]] == [
        ("FedAvg", [0, 1, 2], [3, 2, 1]),
        ("FedProx (μ = 0.1)", [], []),
    ]
    assert "live" not in client.get(f"/studies/{study.pk}/figure?smooth=0.8").json()
    assert "live" not in client.get(f"/runs/{first.pk}/figure").json()
    assert client.get(f"/runs/{second.pk}/figure").json()["live"]["runs"] == {str(second.pk): ["FedAvg", 1]}
    for run in (second, third, *waiting):
        lab.moved(run, RunState.CANCELLED)
    assert "live" not in client.get(f"/studies/{study.pk}/figure").json()


@pytest.mark.django_db
def test_a_seed_with_two_runs_in_a_cell_is_left_to_the_server(client: Client, owner: User) -> None:
    study = lab.launched(owner)
    twin, other, *_ = lab.runs_in_order(study)
    type(twin).objects.filter(pk=twin.pk).update(seed=other.seed)
    client.force_login(owner)
    assert "live" not in client.get(f"/studies/{study.pk}/figure").json()
