import math
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from experiments.models import Round, User, Worker
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, rounds_record, run_finish
from experiments.results.live import events
from experiments.results.live.events import Cursor, Opening, Scope, database_time, opening
from experiments.studies.services.launch import study_launch
from workers.engine.records import RoundRecord

Block = dict[str, Any]


@pytest.fixture
def claims(owner: User, worker: Worker, block: Block) -> list[Claim]:
    """Two runs of one study, each with rounds 0 to 2."""
    study_launch(owner=owner, name="Live", blocks=[block])
    found = [run_claim(worker=worker) for _ in range(2)]
    claims = [claim for claim in found if claim]
    for claim in claims:
        records = [RoundRecord(number, {"accuracy": number / 10, "recall.1": 0.5}) for number in range(3)]
        rounds_record(claim=claim, records=records)
    return claims


def now() -> float:
    return database_time().timestamp()


def told(found: Opening) -> list[tuple[int, int]]:
    return [(each["run"], each["round"]) for each in found.events if each["event"] == "metric"]


def test_a_new_reader_starts_from_now_with_nothing_missed(claims: list[Claim]) -> None:
    found = opening(Scope(), None)
    assert found.events == []
    assert found.start.marks == {claims[0].run: 2, claims[1].run: 2}


def test_a_reader_gets_exactly_what_came_after_its_marks(claims: list[Claim]) -> None:
    first, second = (claim.run for claim in claims)
    found = opening(Scope(), Cursor(now(), {first: 0, second: 2}))
    assert told(found) == [(first, 1), (first, 2)]


def test_a_run_that_started_meanwhile_is_told_whole(claims: list[Claim]) -> None:
    first, second = (claim.run for claim in claims)
    found = opening(Scope(), Cursor(now(), {first: 2}))
    assert told(found) == [(second, 0), (second, 1), (second, 2)]


def test_a_run_that_ended_before_the_window_is_not_told_again(claims: list[Claim]) -> None:
    first, second = (claim.run for claim in claims)
    Round.objects.filter(run=second).update(committed=F("committed") - timedelta(minutes=1))
    assert told(opening(Scope(), Cursor(now(), {first: 2}))) == []


def test_states_that_may_have_changed_come_along(claims: list[Claim]) -> None:
    first, second = claims
    run_finish(claim=first, provenance={})
    found = opening(Scope(), Cursor(now(), {first.run: 2, second.run: 2}))
    states = {each["run"]: each["state"] for each in found.events}
    assert states == {first.run: "done", second.run: "running"}


def test_a_scope_covers_one_study_or_one_run(claims: list[Claim]) -> None:
    second = claims[1].run
    assert told(opening(Scope(run=second), Cursor(now(), {second: 1}))) == [(second, 2)]
    assert told(opening(Scope(study=999_999), Cursor(now()))) == []
    assert Scope(study=3).covers({"studies": [1, 3], "run": 7})
    assert not Scope(study=3).covers({"studies": [1], "run": 7})
    assert not Scope(run=8).covers({"studies": [1], "run": 7})


def test_events_carry_headline_metrics_and_what_is_not_finite_as_text(claims: list[Claim]) -> None:
    claim = claims[0]
    rounds_record(claim=claim, records=[RoundRecord(3, {"loss": math.nan, "accuracy": 0.5, "recall.1": 0.1})])
    (event,) = [
        each
        for each in opening(Scope(run=claim.run), Cursor(now(), {claim.run: 2})).events
        if each["event"] == "metric"
    ]
    assert event["metrics"] == {"accuracy": 0.5, "loss": "NaN"}


def test_a_reader_that_missed_too_much_is_told_to_fetch_anew(claims: list[Claim], monkeypatch: Any) -> None:
    monkeypatch.setattr(events, "MOST_ROUNDS", 3)
    found = opening(Scope(), Cursor(now()))
    assert (found.complete, found.events) == (False, [])
