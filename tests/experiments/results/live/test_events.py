"""How far a reader has come, and what it missed."""

import math
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from experiments.models import Round, User, Worker
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, rounds_record, run_finish
from experiments.results.live import events
from experiments.results.live.events import (
    Cursor,
    EventScope,
    Reader,
    StreamStart,
    database_time,
    parse_cursor,
    stream_start,
)
from experiments.studies.services.launch import study_launch
from workers.engine.records import RoundRecord

Block = dict[str, Any]


def metric(run: int, number: int, at: float) -> dict[str, object]:
    return {"event": "metric", "run": run, "round": number, "at": at}


def test_a_cursor_is_read_back_as_written() -> None:
    cursor = Cursor(1763258507.123, {12: 30, 13: 28})
    assert str(cursor) == "1763258507123:12.30,13.28"
    assert parse_cursor("1763258507123:12.30,13.28") == cursor
    assert parse_cursor("1763258507123:") == Cursor(1763258507.123)


@pytest.mark.parametrize("text", ["", "x", "12.30", "1:2", "1:2.3,", "1:2.3;DROP", "-1:2.3", "1" * 40 + ":"])
def test_what_is_no_cursor_makes_a_new_reader(text: str) -> None:
    assert parse_cursor(text) is None


def test_a_round_is_news_once() -> None:
    reader = Reader(Cursor(100.0, {1: 4}))
    news = [reader.is_news(metric(1, number, 101.0)) for number in (3, 4, 5, 5, 6)]
    assert news == [False, False, True, False, True]
    assert reader.is_news(metric(2, 0, 102.0))
    assert reader.is_news({"event": "state", "run": 1})


def test_the_cursor_names_only_runs_that_moved_lately() -> None:
    reader = Reader(Cursor(100.0))
    reader.is_news(metric(1, 7, 101.0))
    reader.is_news(metric(2, 3, 110.0))
    assert str(reader.cursor) == "110000:1.7,2.3"
    reader.is_news(metric(2, 4, 120.0))
    assert str(reader.cursor) == "120000:2.4"


def test_a_run_that_left_the_cursor_is_still_not_told_twice() -> None:
    reader = Reader(Cursor(100.0))
    reader.is_news(metric(1, 7, 101.0))
    reader.is_news(metric(2, 3, 150.0))
    assert str(reader.cursor) == "150000:2.3"
    assert not reader.is_news(metric(1, 7, 151.0))


@pytest.fixture
def claims(owner: User, worker: Worker, block: Block) -> list[Claim]:
    """Two runs of one study, each with rounds 0 to 2."""
    study_launch(owner=owner, name="Live", blocks=[block])
    candidates = [run_claim(worker=worker) for _ in range(2)]
    claims = [claim for claim in candidates if claim]
    for claim in claims:
        records = [RoundRecord(number, {"accuracy": number / 10, "recall.1": 0.5}) for number in range(3)]
        rounds_record(claim=claim, records=records)
    return claims


def now() -> float:
    return database_time().timestamp()


def missed_rounds(start: StreamStart) -> list[tuple[int, int]]:
    return [(each["run"], each["round"]) for each in start.events if each["event"] == "metric"]


def test_a_new_reader_starts_from_now_with_nothing_missed(claims: list[Claim]) -> None:
    start = stream_start(EventScope(), None)
    assert start.events == []
    assert start.cursor.marks == {claims[0].run: 2, claims[1].run: 2}


def test_a_reader_gets_exactly_what_came_after_its_marks(claims: list[Claim]) -> None:
    first, second = (claim.run for claim in claims)
    start = stream_start(EventScope(), Cursor(now(), {first: 0, second: 2}))
    assert missed_rounds(start) == [(first, 1), (first, 2)]


def test_a_run_that_started_meanwhile_is_told_whole(claims: list[Claim]) -> None:
    first, second = (claim.run for claim in claims)
    start = stream_start(EventScope(), Cursor(now(), {first: 2}))
    assert missed_rounds(start) == [(second, 0), (second, 1), (second, 2)]


def test_a_run_that_ended_before_the_window_is_not_told_again(claims: list[Claim]) -> None:
    first, second = (claim.run for claim in claims)
    Round.objects.filter(run=second).update(committed=F("committed") - timedelta(minutes=1))
    assert missed_rounds(stream_start(EventScope(), Cursor(now(), {first: 2}))) == []


def test_states_that_may_have_changed_come_along(claims: list[Claim]) -> None:
    first, second = claims
    run_finish(claim=first, provenance={})
    start = stream_start(EventScope(), Cursor(now(), {first.run: 2, second.run: 2}))
    states = {each["run"]: each["state"] for each in start.events}
    assert states == {first.run: "done", second.run: "running"}


def test_a_scope_covers_one_study_or_one_run(claims: list[Claim]) -> None:
    second = claims[1].run
    assert missed_rounds(stream_start(EventScope(run=second), Cursor(now(), {second: 1}))) == [(second, 2)]
    assert missed_rounds(stream_start(EventScope(study=999_999), Cursor(now()))) == []
    assert EventScope(study=3).covers({"studies": [1, 3], "run": 7})
    assert not EventScope(study=3).covers({"studies": [1], "run": 7})
    assert not EventScope(run=8).covers({"studies": [1], "run": 7})


def test_events_carry_headline_metrics_and_what_is_not_finite_as_text(claims: list[Claim]) -> None:
    claim = claims[0]
    rounds_record(claim=claim, records=[RoundRecord(3, {"loss": math.nan, "accuracy": 0.5, "recall.1": 0.1})])
    (event,) = [
        each
        for each in stream_start(EventScope(run=claim.run), Cursor(now(), {claim.run: 2})).events
        if each["event"] == "metric"
    ]
    assert event["metrics"] == {"accuracy": 0.5, "loss": "NaN"}


def test_a_reader_that_missed_too_much_is_told_to_fetch_anew(claims: list[Claim], monkeypatch: Any) -> None:
    monkeypatch.setattr(events, "MOST_ROUNDS", 3)
    start = stream_start(EventScope(), Cursor(now()))
    assert (start.complete, start.events) == (False, [])
