import math
from typing import Any

import pytest
from django.test import Client

from experiments.models import Run, User, Worker
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import rounds_record, run_fail
from experiments.results.schemas import client_rounds, metric_rounds
from experiments.studies.services.launch import study_launch
from workers.engine.records import RoundRecord

Block = dict[str, Any]


@pytest.fixture
def mine(client: Client, owner: User, block: Block) -> Client:
    study_launch(owner=owner, name="Mine", blocks=[block])
    client.force_login(owner)
    return client


def test_runs_are_filtered_by_study_and_state(mine: Client, owner: User, worker: Worker, block: Block) -> None:
    other = study_launch(owner=owner, name="Other", blocks=[{**block, "rounds": 9}])
    claim = run_claim(worker=worker)
    assert claim
    running = mine.get("/api/v1/runs?state=running").json()
    assert [(each["id"], each["worker"]) for each in running["items"]] == [(claim.run, "worker-1@lab")]
    assert mine.get(f"/api/v1/runs?study={other.pk}").json()["count"] == 4
    assert mine.get("/api/v1/runs?state=odd").status_code == 422


def test_runs_come_a_page_at_a_time(mine: Client) -> None:
    first = mine.get("/api/v1/runs?limit=3").json()
    rest = mine.get(f"/api/v1/runs?limit=3&cursor={first['next']}").json()
    assert (first["count"], len(first["items"]), len(rest["items"]), rest["next"]) == (4, 3, 1, None)


def test_a_run_tells_its_spec_and_attempts(mine: Client, worker: Worker) -> None:
    claim = run_claim(worker=worker)
    assert claim
    run_fail(claim=claim, reason="ValueError: no")
    body = mine.get(f"/api/v1/runs/{claim.run}").json()
    assert (body["state"], body["reason"], body["spec"]["rounds"]) == ("failed", "ValueError: no", 3)
    assert [(each["number"], each["outcome"]) for each in body["attempts"]] == [(1, "failed")]


def test_metrics_come_by_round_and_keep_what_is_not_finite(mine: Client, worker: Worker) -> None:
    claim = run_claim(worker=worker)
    assert claim
    first = RoundRecord(0, {"accuracy": 0.25, "loss": 2.5})
    rounds_record(claim=claim, records=[first, RoundRecord(1, {"accuracy": 0.5, "loss": math.nan})])
    path = f"/api/v1/runs/{claim.run}/metrics"
    assert mine.get(path).json() == {
        "run": claim.run,
        "state": "running",
        "next": None,
        "rounds": [
            {"round": 0, "metrics": {"accuracy": 0.25, "loss": 2.5}},
            {"round": 1, "metrics": {"accuracy": 0.5, "loss": "NaN"}},
        ],
    }
    assert mine.get(f"{path}?name=accuracy&after=0").json()["rounds"] == [{"round": 1, "metrics": {"accuracy": 0.5}}]


def test_numbers_beyond_what_an_answer_holds_are_on_the_next_page(mine: Client, worker: Worker) -> None:
    claim = run_claim(worker=worker)
    assert claim
    clients = {str(client): {"accuracy": client / 7} for client in range(50)}
    records = [RoundRecord(number, {"accuracy": 0.5, "loss": 1.0}, clients=clients) for number in range(4)]
    rounds_record(claim=claim, records=records)
    run = Run.objects.get(pk=claim.run)

    def pages(read: Any, *limits: int) -> list[list[int]]:
        found, after = [], -1
        while True:
            rounds, following = read(after, *limits)
            found.append([each["round"] for each in rounds])
            if following is None:
                return found
            after = following

    assert pages(lambda after: metric_rounds(run, [], after, most=5)) == [[0, 1], [2, 3]]
    assert pages(lambda after: metric_rounds(run, ["loss"], after, most=3)) == [[0, 1, 2], [3]]
    assert pages(lambda after: metric_rounds(run, [], after)) == [[0, 1, 2, 3]]
    assert pages(lambda after: client_rounds(run, after, 3)) == [[0, 1, 2], [3]]
    assert pages(lambda after: client_rounds(run, after, 50, most_bytes=1)) == [[0], [1], [2], [3]]
    assert pages(lambda after: client_rounds(run, after, 50)) == [[0, 1, 2, 3]]


def test_a_run_is_cancelled_and_retried(mine: Client) -> None:
    run = Run.objects.earliest("pk").pk
    assert mine.post(f"/api/v1/runs/{run}/cancel").json()["state"] == "cancelled"
    assert mine.post(f"/api/v1/runs/{run}/cancel").status_code == 409
    assert mine.post(f"/api/v1/runs/{run}/retry").json()["state"] == "queued"


def test_strangers_are_refused(mine: Client, stranger: User) -> None:
    mine.force_login(stranger)
    run = Run.objects.earliest("pk").pk
    assert mine.post(f"/api/v1/runs/{run}/cancel").status_code == 403
    assert mine.post(f"/api/v1/runs/{run}/retry").status_code == 403


def test_what_is_not_there_is_not_found(mine: Client) -> None:
    for path in ("/api/v1/runs/999999", "/api/v1/runs/999999/metrics", "/api/v1/studies/999999"):
        answer = mine.get(path)
        assert (answer.status_code, answer.json()) == (404, {"detail": "There is no such thing.", "errors": []})
