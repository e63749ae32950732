from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from config.env import ROOT
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from experiments.api.errors import NOT_LOGGED_IN
from experiments.models import Attempt, RunState, User, Worker
from experiments.queue.services.workers import worker_beat
from tests.experiments import lab

Samples = dict[tuple[str, ...], float]


@pytest.fixture
def read(client: Client, viewer: User) -> Callable[[str], Samples]:
    client.force_login(viewer)

    def samples(name: str) -> Samples:
        """By the values of its labels, in the order of their names."""
        text = client.get("/metrics").content.decode()
        return {
            tuple(value for _, value in sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name
        }

    return samples


def test_runs_are_counted_by_state_and_for_studies_that_have_some_to_compute(
    owner: User, read: Callable[[str], Samples]
) -> None:
    """Six runs each; all of the second study are done, so that it is a series no more."""
    study, finished = lab.launched(owner, 'A "grid"'), lab.launched(owner, "Over", rounds=3)
    first, second, third, *_ = lab.runs_in_order(study)
    lab.record(first, {"accuracy": [0.1, 0.5]})
    lab.moved(second, RunState.RUNNING)
    lab.moved(third, RunState.FAILED, "no memory")
    for run in lab.runs_in_order(finished):
        lab.record(run, {"accuracy": [0.1, 0.5]})

    states = {("queued",): 3, ("running",): 1, ("done",): 7, ("failed",): 1, ("cancelled",): 0}
    assert read("tributary_runs") == states
    assert read("tributary_study_runs") == {
        ('A "grid"', state, str(study.pk)): count
        for state, count in {"queued": 3, "running": 1, "done": 1, "failed": 1}.items()
    }


def test_waiting_claims_and_ends_of_attempts_are_told(
    owner: User, worker: Worker, read: Callable[[str], Samples]
) -> None:
    run, *_ = lab.runs_in_order(lab.launched(owner))
    type(run).objects.filter(pk=run.pk).update(created=timezone.now() - timedelta(hours=2))
    before = read("tributary_claims_total")[()]
    ends = {"lost": 5, "done": 59, "crashed": 61}
    for number, (outcome, minutes) in enumerate(ends.items()):
        ended = timezone.now() - timedelta(minutes=minutes)
        Attempt.objects.create(
            run=run, number=number, token=uuid4(), worker="w", started=lab.NOON, ended=ended, outcome=outcome
        )

    assert 7200 <= read("tributary_oldest_queued_seconds")[()] < 7300
    ended_now = read("tributary_attempts_ended_last_hour")
    assert {outcome for (outcome,), count in ended_now.items() if count} == {"lost", "done"}
    Attempt.objects.filter(run=run).delete()
    assert read("tributary_claims_total")[()] == before + 3
    assert read("tributary_workers") == {
        ("idle",): 1,
        **dict.fromkeys([("running",), ("leaving",), ("drained",), ("silent",)], 0),
    }


def test_each_worker_tells_how_often_the_store_did_not_answer(worker: Worker, read: Callable[[str], Samples]) -> None:
    assert read("tributary_store_errors_total") == {(worker.name,): 0.0}
    worker_beat(worker=worker, rounds_per_second=0.5, store_errors=3)
    assert read("tributary_store_errors_total") == {(worker.name,): 3.0}


def test_a_lab_without_runs_waits_for_nothing(db: None, read: Callable[[str], Samples]) -> None:
    assert read("tributary_oldest_queued_seconds") == {(): 0.0}
    assert read("tributary_study_runs") == {}
    used, most = read("tributary_database_connections")[()], read("tributary_database_connections_limit")[()]
    assert 1 <= used <= most


def test_requests_are_counted_by_the_patterns_of_their_addresses(
    client: Client, owner: User, read: Callable[[str], Samples]
) -> None:
    """Whatever is asked for, a stranger makes no series of a name of his own."""
    study = lab.launched(owner)
    for path in ("/healthz", f"/studies/{study.pk}", "/studies/999999", "/no-such-page", "/neither", "/api/v1/studies"):
        client.get(path)

    counts = read("tributary_request_seconds_count")
    assert counts["GET", "/studies/<int:pk>", "2xx"] >= 1
    assert counts["GET", "/studies/<int:pk>", "4xx"] >= 1
    assert counts["GET", "none", "4xx"] >= 2
    assert counts["GET", "/api/v1/studies", "2xx"] >= 1
    assert not [labels for labels in counts if "neither" in labels[1] or "999999" in labels[1]]


def test_a_token_reads_them_and_nobody_else(client: Client, owner: User, program: Callable[..., Client]) -> None:
    assert program(owner, scope="read").get("/metrics").headers["Content-Type"].startswith("text/plain")
    refused = client.get("/metrics")
    assert (refused.status_code, refused.json()["detail"]) == (401, NOT_LOGGED_IN)
    assert Client(headers={"Authorization": "Bearer trib_wrong"}).get("/metrics").status_code == 401


def test_the_example_board_asks_for_metrics_that_are_there(client: Client, viewer: User) -> None:
    board: dict[str, Any] = json.loads((ROOT / "docs" / "grafana-board.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    asked = {name for query in queries for name in re.findall(r"tributary_\w+", query)}
    client.force_login(viewer)
    client.get("/metrics")
    given = set(re.findall(r"^(tributary_\w+)", client.get("/metrics").content.decode(), re.MULTILINE))
    assert len(queries) >= 10
    assert asked <= given | {"tributary_study_runs", "tributary_store_errors_total"}
