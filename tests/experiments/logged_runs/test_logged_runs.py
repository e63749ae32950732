"""A script's runs over REST: begun once, told in any order and twice, ended, and shown wherever runs are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from experiments.core.errors import ConflictError
from experiments.models import Metric, Run, RunState, Study, User
from experiments.queue.services.bulk import runs_retry
from experiments.queue.services.claim import run_claim, runs_reap
from experiments.queue.services.retry import run_retry
from experiments.queue.services.runs import run_cancel
from experiments.studies.services.changes import study_retry

API = "/api/v1/logged-runs"
START = {"study": "My own loop", "script": "train.py", "config": {"lr": 0.1, "layers": 2}, "seed": 0, "key": "a"}


def post(client: Client, address: str, body: Any, status: int = 200) -> Any:
    response = client.post(address, body, content_type="application/json")
    assert response.status_code == status, response.content
    return response.json()


@pytest.fixture
def run(as_owner: Client) -> int:
    answer = post(as_owner, API, START, 201)
    assert answer["state"] == "running"
    return int(answer["id"])


@pytest.fixture
def finished_study(as_owner: Client) -> Study:
    for rate, accuracies in ((0.1, (0.5, 0.7)), (0.2, (0.4, 0.6))):
        for seed in (0, 1):
            start = {**START, "config": {"lr": rate}, "seed": seed, "key": f"{rate}-{seed}"}
            own = post(as_owner, API, start, 201)["id"]
            rounds = [
                {"round": place, "metrics": {"accuracy": value + seed / 100, "loss": 1 - value}}
                for place, value in enumerate(accuracies)
            ]
            post(as_owner, f"{API}/{own}/rounds", rounds)
            post(as_owner, f"{API}/{own}/finish", {})
    return Study.objects.get()


def values(run: int) -> dict[tuple[int, str], float]:
    return {(each.round, each.name): each.value for each in Metric.objects.filter(run_id=run)}


def test_a_run_that_is_begun_twice_with_one_key_is_one_run(as_owner: Client, run: int) -> None:
    assert post(as_owner, API, START, 200)["id"] == run
    assert post(as_owner, API, {**START, "key": "b", "seed": 1}, 201)["id"] != run
    study = Study.objects.get()
    assert (study.name, study.origin, study.runs.count()) == ("My own loop", "logged", 2)
    assert study.blocks == [{"app": {"name": "train.py", "config": {"layers": 2, "lr": 0.1}}, "seeds": [0, 1]}]


def test_a_key_belongs_to_one_config(as_owner: Client, run: int) -> None:
    answer = post(as_owner, API, {**START, "config": {"lr": 0.5}}, 422)
    assert [error["path"] for error in answer["errors"]] == ["key"]


def test_rounds_that_come_twice_or_in_any_order_are_kept_once(as_owner: Client, run: int) -> None:
    post(as_owner, f"{API}/{run}/rounds", [{"round": 2, "metrics": {"accuracy": 0.7}}])
    post(as_owner, f"{API}/{run}/rounds", [{"round": 1, "metrics": {"accuracy": 0.5, "loss": "NaN"}}])
    again = [{"round": 2, "metrics": {"accuracy": 0.7}}, {"round": 2, "metrics": {"f1": 0.6}}]
    answer = post(as_owner, f"{API}/{run}/rounds", again)
    assert (answer["rounds_done"], answer["state"]) == (2, "running")
    told = values(run)
    assert str(told.pop((1, "loss"))) == "nan"
    assert told == {(1, "accuracy"): 0.5, (2, "accuracy"): 0.7, (2, "f1"): 0.6}


def test_an_end_is_for_good_and_may_be_said_twice(as_owner: Client, run: int) -> None:
    rounds = [{"round": 1, "metrics": {"accuracy": 0.5}}]
    post(as_owner, f"{API}/{run}/rounds", rounds)
    assert post(as_owner, f"{API}/{run}/finish", {})["state"] == "done"
    assert post(as_owner, f"{API}/{run}/finish", {})["state"] == "done"
    assert post(as_owner, f"{API}/{run}/rounds", rounds)["state"] == "done"
    post(as_owner, f"{API}/{run}/rounds", [{"round": 2, "metrics": {"accuracy": 0.9}}], 409)
    post(as_owner, f"{API}/{run}/finish", {"state": "failed"}, 409)
    assert values(run) == {(1, "accuracy"): 0.5}


def test_a_script_that_failed_may_go_on(as_owner: Client, run: int) -> None:
    failed = post(as_owner, f"{API}/{run}/finish", {"state": "failed", "reason": "ValueError: no data"})
    assert failed["state"] == "failed"
    assert Run.objects.get(pk=run).reason == "ValueError: no data"
    assert post(as_owner, f"{API}/{run}/rounds", [{"round": 1, "metrics": {"loss": 1.0}}])["state"] == "running"


def test_no_worker_claims_it_and_silence_ends_it(as_owner: Client, run: int, worker: Any) -> None:
    assert run_claim(worker=worker) is None
    Run.objects.filter(pk=run).update(lease_until=Now() - timedelta(seconds=1))
    assert runs_reap() == 1
    ended = Run.objects.get(pk=run)
    assert (ended.state, ended.reason) == (RunState.FAILED, "Nothing was heard of its script for 24 hours.")


def test_a_cancelled_run_ends_without_a_worker_and_takes_no_rounds(as_owner: Client, run: int, owner: User) -> None:
    run_cancel(run=Run.objects.get(pk=run), actor=owner)
    assert runs_reap() == 1
    assert Run.objects.get(pk=run).state == RunState.CANCELLED
    post(as_owner, f"{API}/{run}/rounds", [{"round": 1, "metrics": {"loss": 1.0}}], 409)


def test_nothing_tries_it_again(as_owner: Client, run: int, owner: User) -> None:
    post(as_owner, f"{API}/{run}/finish", {"state": "failed"})
    with pytest.raises(ConflictError, match="start the script again"):
        run_retry(run=Run.objects.get(pk=run), actor=owner)
    assert runs_retry(runs=[run], actor=owner).done == 0
    assert study_retry(study=Study.objects.get(), actor=owner) == 0
    assert Run.objects.get(pk=run).state == RunState.FAILED


def test_others_may_read_it_and_not_tell_it(run: int, browsers: dict[str, Client]) -> None:
    post(browsers["stranger"], f"{API}/{run}/rounds", [], 403)
    assert browsers["stranger"].get(f"/api/v1/runs/{run}").status_code == 200


def test_a_run_that_was_computed_here_cannot_be_told(as_owner: Client, owner: User) -> None:
    from tests.experiments import lab

    computed = lab.runs_in_order(lab.launched(owner))[0]
    post(as_owner, f"{API}/{computed.pk}/rounds", [{"round": 1, "metrics": {"loss": 1.0}}], 409)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"study": " "}, "study"),
        ({"config": {" ": 1}}, "config. "),
        ({"config": {"deep": {"lr": 1}}}, "config.deep"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_is_wrong_is_said_with_its_path(as_owner: Client, change: dict[str, Any], path: str) -> None:
    answer = post(as_owner, API, {**START, **change}, 422)
    assert any(error["path"].startswith(path) for error in answer["errors"]), answer
    assert not Run.objects.exists()


def test_every_page_chart_and_table_takes_logged_runs(as_owner: Client, finished_study: Study) -> None:
    from experiments.compare.chart_builders import CHART_BUILDERS
    from experiments.compare.displays.charts import DISPLAY_CHARTS

    run = finished_study.runs.order_by("pk")[0]
    study = finished_study.pk
    for address in (
        *("/", "/queue?state=done", f"/studies/{study}", f"/studies/{study}/runs", f"/studies/{study}/displays"),
        *(f"/runs/{run.pk}", f"/runs/{run.pk}/clients", f"/runs/{run.pk}/figure?metric=loss"),
        *(f"/compare?study={study}&tab={tab}" for tab in ("curves", "better", "cost", "clients", "specs")),
        *(f"/compare/tables/values.{kind}?study={study}" for kind in ("md", "tex")),
        *(f"/compare/charts/{name}?study={study}" for name in CHART_BUILDERS),
        *(f"/studies/{study}/displays/charts/{name}" for name in DISPLAY_CHARTS),
        f"/api/v1/studies/{study}/summary",
    ):
        response = as_owner.get(address)
        assert response.status_code == 200, (address, response.content[:300])


def test_keys_of_the_config_are_axes(as_owner: Client, finished_study: Study) -> None:
    rows = as_owner.get(f"/api/v1/studies/{finished_study.pk}/summary?by=app.lr&metric=accuracy").json()["rows"]
    assert [(row["group"], round(row["mean"], 6), row["n"]) for row in rows] == [
        ({"app.lr": 0.1}, 0.705, 2),
        ({"app.lr": 0.2}, 0.605, 2),
    ]


def test_the_run_page_says_that_it_was_logged(as_owner: Client, run: int) -> None:
    post(as_owner, f"{API}/{run}/finish", {"state": "failed"})
    page = as_owner.get(f"/runs/{run}").content.decode()
    assert "logged, not computed here" in page
    assert f"/runs/{run}/retry" not in page
    assert f"/studies/new?run={run}" not in page


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"provenance": {"commit": "x" * 2_001}}, "provenance.commit"),
        ({"config": {f"key {number}": "y" * 1_000 for number in range(60)}}, "config"),
    ],
)
def test_what_every_page_would_have_to_read_has_an_end(as_owner: Client, change: dict[str, Any], path: str) -> None:
    answer = post(as_owner, API, {**START, **change}, 422)
    assert [error["path"] for error in answer["errors"]] == [path]
    assert not Study.objects.exists()


def test_a_study_of_logged_runs_has_no_more_runs_than_others(as_owner: Client, run: int, settings: Any) -> None:
    settings.MAX_RUNS = 1
    answer = post(as_owner, API, {**START, "key": "b"}, 422)
    assert answer["detail"] == "A study has at most 1 runs: give another name."
    assert post(as_owner, API, START, 200)["id"] == run  # one that is begun goes on
    assert post(as_owner, API, {**START, "key": "b", "study": "Another"}, 201)["id"] != run


def test_rounds_bring_no_new_metric_each(as_owner: Client, run: int) -> None:
    rounds = [{"round": place, "metrics": {f"m{place}": 1.0}} for place in range(1_001)]
    answer = post(as_owner, f"{API}/{run}/rounds", rounds, 422)
    assert [error["message"] for error in answer["errors"]] == ["At most 1000 metrics."]
    assert values(run) == {}


def test_the_run_page_has_the_scripts_versions_and_nothing_that_only_the_lab_knows(as_owner: Client) -> None:
    start = {**START, "provenance": {"commit": "9ab01cd", "torch": "2.13.0"}}
    run = post(as_owner, API, start, 201)["id"]
    post(as_owner, f"{API}/{run}/rounds", [{"round": 1, "metrics": {"accuracy": 0.5}}])
    page = as_owner.get(f"/runs/{run}").content.decode()
    assert "commit 9ab01cd" in page
    assert "torch 2.13.0" in page
    for panel in ('id="run-clients"', 'id="run-costs"', "<dt>Engine</dt>"):
        assert panel not in page
    post(as_owner, f"{API}/{run}/rounds", [{"round": 1, "metrics": {"seconds": 2.0}}])
    assert 'id="run-costs"' in as_owner.get(f"/runs/{run}").content.decode()


def test_compare_names_what_the_labs_own_runs_have_beside_those_of_a_script(
    as_owner: Client, owner: User, finished_study: Study
) -> None:
    from tests.experiments import lab

    computed = lab.launched(owner)
    page = as_owner.get(f"/compare?study={computed.pk}&study={finished_study.pk}").content.decode()
    assert "Digits · Logistic regression · IID · FedAvg and FedProx (μ = 0.1) and train.py" in page
