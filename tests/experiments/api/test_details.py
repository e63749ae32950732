"""What one study or run tells beyond itself: summary, clients, log."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from experiments.models import Round, RunState, Study, User
from tests.experiments import lab


@pytest.fixture
def study(owner: User) -> Study:
    return lab.launched(owner)


def test_a_study_is_summed_up(mine: Client, study: Study) -> None:
    for run, last in zip(lab.runs_in_order(study), (0.5, 0.75, 1.0, 0.5, 0.5, 0.5), strict=True):
        lab.record(run, {"accuracy": [0.125, last]})
    body = mine.get(f"/api/v1/studies/{study.pk}/summary?by=strategy&metric=accuracy&rounds=0,1").json()
    assert (body["study"], body["metric"], body["by"]) == (study.pk, "accuracy", ["strategy"])
    assert body["rows"][2] == {
        "group": {"strategy": "fedavg"},
        "round": 1,
        "mean": 0.75,
        "std": 0.25,
        "low": 0.5,
        "high": 1.0,
        "n": 3,
        "lost": 0,
        "missed": 0,
        "best": True,
    }


@pytest.mark.parametrize("query", ["by=strat", "rounds=x", "rounds=1,,2", "rounds=-1"])
def test_an_odd_summary_is_refused_with_its_path(mine: Client, study: Study, query: str) -> None:
    answer = mine.get(f"/api/v1/studies/{study.pk}/summary?{query}")
    assert (answer.status_code, [each["path"] for each in answer.json()["errors"]]) == (422, [query.split("=")[0]])


def test_clients_come_by_round_a_page_at_a_time(mine: Client, study: Study) -> None:
    run = lab.runs_in_order(study)[0]
    Round.objects.create(run=run, round=0, cohort=[])
    measured = {"0": {"train_loss": 0.5}, "2": {"train_loss": "NaN"}}
    Round.objects.create(run=run, round=1, cohort=[0, 2], clients=measured)
    first = mine.get(f"/api/v1/runs/{run.pk}/clients?limit=1").json()
    assert first == {
        "run": run.pk,
        "state": "queued",
        "next": 0,
        "rounds": [{"round": 0, "cohort": [], "clients": {}}],
    }
    rest = mine.get(f"/api/v1/runs/{run.pk}/clients?limit=1&after={first['next']}").json()
    assert (rest["next"], rest["rounds"]) == (
        None,
        [{"round": 1, "cohort": [0, 2], "clients": measured}],
    )


def test_a_log_is_read_and_followed(
    mine: Client, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))
    run = lab.runs_in_order(study)[0].pk
    address = f"/api/v1/runs/{run}/log"
    assert mine.get(address).json() == {"run": run, "text": "", "after": 0, "size": 0, "here": False}
    file = tmp_path / "runs" / str(run) / "log.txt"
    file.parent.mkdir(parents=True)
    file.write_text("round 1\n")
    first = mine.get(address).json()
    assert (first["text"], first["after"], first["here"]) == ("round 1\n", 8, True)
    file.write_text("round 1\nround 2\n")
    assert mine.get(f"{address}?after={first['after']}").json()["text"] == "round 2\n"


def test_a_run_tells_what_it_found(mine: Client, study: Study) -> None:
    run = lab.moved(lab.runs_in_order(study)[0], RunState.DONE)
    run.findings = {"confusion": [[3, 1], [0, 4]]}
    run.save()
    assert mine.get(f"/api/v1/runs/{run.pk}").json()["findings"] == {"confusion": [[3, 1], [0, 4]]}


def test_a_study_is_put_away_and_brought_back(mine: Client, study: Study) -> None:
    address = f"/api/v1/studies/{study.pk}"
    assert mine.patch(address, {"archived": True}, content_type="application/json").json()["archived"]
    again = mine.patch(address, {"archived": False, "tags": ["x"]}, content_type="application/json").json()
    assert (again["archived"], again["tags"], again["name"]) == (None, ["x"], "Two strategies")


def test_a_deletion_that_would_take_other_runs_than_agreed_is_refused(mine: Client, study: Study) -> None:
    refused = mine.delete(f"/api/v1/studies/{study.pk}?expected=5")
    assert (refused.status_code, Study.objects.filter(pk=study.pk).exists()) == (409, True)
    assert mine.delete(f"/api/v1/studies/{study.pk}?expected=6").status_code == 202


def test_an_address_with_more_parameters_than_are_read_is_refused(mine: Client) -> None:
    answer = mine.get("/api/v1/metrics?" + "&".join(["metric=accuracy"] * 1001))

    assert answer.status_code == 422
    assert answer.json()["detail"] == "The address has more than 1,000 parameters. Ask for fewer at a time."


def test_a_body_that_is_too_large_is_refused(mine: Client) -> None:
    answer = mine.post("/api/v1/studies", '{"name": "' + "x" * 2_700_000 + '"}', content_type="application/json")
    assert (answer.status_code, answer.json()["detail"]) == (
        413,
        "The body is larger than 2.6 MB. Launch the grid in several studies.",
    )
