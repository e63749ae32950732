"""A change is handed to every reader once, as one batch."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from experiments.access.selectors.credentials import Credential
from experiments.results.live import listener as module
from experiments.results.live.events import Cursor, EventScope, Reader
from experiments.results.live.listener import Batch, Listener, LiveEvent, Subscriber, Wish, event_messages

MIRA = Credential(1, "member")


def metric(run: int, number: int, study: int = 1, at: float = 100.0) -> LiveEvent:
    event = {"event": "metric", "at": at, "run": run, "studies": [study], "round": number}
    return LiveEvent(json.dumps(event))


def state(run: int, state: str) -> LiveEvent:
    return LiveEvent(json.dumps({"event": "state", "run": run, "studies": [1], "state": state}))


def test_a_reader_of_the_latest_hears_the_last_of_each_run_and_kind() -> None:
    running, done = state(1, "running"), state(1, "done")
    events = [running, metric(1, 1), metric(2, 1), metric(1, 2), done, metric(2, 2)]
    assert Wish(EventScope(), latest=True).select(events) == [events[3], done, events[5]]
    assert Wish(EventScope(), latest=False).select(events) == events


def test_a_wish_leaves_out_what_others_asked_for() -> None:
    events = [metric(1, 1, study=1), metric(2, 1, study=2)]
    assert Wish(EventScope(study=2)).select(events) == events[1:]
    assert Wish(EventScope(run=1)).select(events) == events[:1]


def test_readers_of_the_same_share_what_is_selected_and_written_for_them() -> None:
    async def test() -> None:
        listener, wish = Listener(), Wish(EventScope())
        subscribers = [Subscriber(wish, MIRA) for _ in range(3)]
        listener.subscribers.update(subscribers)
        events = [metric(1, 1), metric(1, 2)]
        for batch in (events, [metric(1, 3)]):
            listener.pending = list(batch)
            listener.hand_out()
        taken = [await each.take() or [] for each in subscribers]
        assert [[[event.fields["round"] for event in batch.events] for batch in each] for each in taken] == (
            [[[1, 2], [3]]] * 3
        )
        assert taken[0] == taken[1] == taken[2]

    asyncio.run(test())


def test_a_reader_that_takes_nothing_is_sent_to_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PENDING", 3)

    async def test() -> None:
        subscriber = Subscriber(Wish(EventScope()), MIRA)
        subscriber.put(Batch([metric(1, number) for number in range(3)]))
        assert not subscriber.ended
        subscriber.put(Batch([metric(1, 4)]))
        assert await subscriber.take() is None

    asyncio.run(test())


def test_each_event_of_a_batch_says_how_far_its_reader_is() -> None:
    reader = Reader(Cursor(100.0, {1: 1}))
    text = Batch([metric(1, 1), metric(1, 2), metric(2, 0)]).text_for(reader)
    assert ids_of(text) == ["100000:1.2", "100000:1.2,2.0"]


def ids_of(text: bytes) -> list[str]:
    return [line.removeprefix("id: ") for line in text.decode().splitlines() if line.startswith("id: ")]


def test_readers_who_are_equally_far_are_written_to_once() -> None:
    batch = Batch([metric(1, 4, at=101.0), metric(1, 5, at=102.0)])
    readers = [Reader(Cursor(100.0, {1: 3})), Reader(Cursor(100.5, {1: 3})), Reader(Cursor(100.0, {1: 4}))]
    first, second, third = (batch.text_for(reader) for reader in readers)
    assert first is second
    assert ids_of(first) == ["101000:1.4", "102000:1.5"]
    assert ids_of(third) == ["102000:1.5"]
    assert [str(reader.cursor) for reader in readers] == ["102000:1.5"] * 3


def test_readers_who_are_elsewhere_with_another_run_are_written_to_apart() -> None:
    """An id names every run that moved lately: a reader must not be told that it has what it has not."""
    batch = Batch([metric(1, 4, at=101.0)])
    texts = [batch.text_for(Reader(Cursor(100.0, {1: 3, 2: number}))) for number in (5, 6)]
    assert [ids_of(text) for text in texts] == [["101000:2.5,1.4"], ["101000:2.6,1.4"]]


@example([[(3, 0, 21)], [(1, 0, 0), (3, 0, 0)]], [(0, {}), (0, {3: 0})])
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 6), st.integers(0, 40)), max_size=5), max_size=6),
    st.lists(
        st.tuples(st.integers(0, 5), st.dictionaries(st.integers(1, 3), st.integers(0, 3))), min_size=2, max_size=4
    ),
)
def test_whoever_shares_a_text_gets_what_they_would_have_got_alone(
    batches: list[list[tuple[int, int, int]]], starts: list[tuple[int, dict[int, int]]]
) -> None:
    shared, alone = ([Reader(Cursor(100.0 + at, marks)) for at, marks in starts] for _ in range(2))
    for moves in batches:
        events = [metric(run, number, at=100.0 + at) for run, number, at in sorted(moves, key=lambda move: move[2])]
        batch = Batch(events)
        for one, other in zip(shared, alone, strict=True):
            assert set_of_marks(batch.text_for(one)) == set_of_marks(event_messages(events, other))
            assert one.last_rounds == other.last_rounds


def set_of_marks(text: bytes) -> list[object]:
    """Its lines; an id's marks may stand in any order."""
    lines = text.decode().splitlines()
    return [set(line.replace(":", ",").split(",")) if line.startswith("id: ") else line for line in lines]


def test_only_who_may_still_read_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    noor = Credential(2, "viewer", token=5)
    monkeypatch.setattr(module, "valid_credentials", lambda asked: set(asked) - {noor})

    async def test() -> list[bool]:
        listener: Any = Listener()
        listener.subscribers = {Subscriber(Wish(EventScope()), who) for who in (MIRA, noor)}
        listener.check_access()
        await asyncio.sleep(0)
        return [each.ended for each in sorted(listener.subscribers, key=lambda each: each.credential.person)]

    assert asyncio.run(test()) == [False, True]


def measured(run: int, number: int, **metrics: float) -> LiveEvent:
    return LiveEvent(json.dumps({**metric(run, number, at=100.0 + number).fields, "metrics": metrics}))


def test_rounds_of_all_runs_are_one_event_with_the_metrics_of_the_charts() -> None:
    events = [measured(1, 4, accuracy=0.4, loss=1.5), state(1, "running"), measured(2, 1, loss=2.0), state(1, "done")]
    events.append(measured(1, 5, accuracy=0.5, loss=1.25))
    wish = Wish(EventScope(), latest=True, curves=("accuracy",))
    reader = Reader(Cursor(100.0, {1: 3}))
    text = Batch(wish.select(events), wish.curves).text_for(reader).decode()
    first, second, rest = text.split("\n\n")
    assert first.splitlines()[:2] == ["event: curves", "id: 105000:2.1,1.5"]
    assert json.loads(first.splitlines()[2].removeprefix("data: ")) == {
        "event": "curves",
        "at": 105.0,
        "runs": {
            "1": {"rounds": [4, 5], "values": {"accuracy": [0.4, 0.5]}},
            "2": {"rounds": [1], "values": {"accuracy": [None]}},
        },
    }
    assert second.splitlines()[0] == "event: state"
    assert json.loads(second.splitlines()[2].removeprefix("data: "))["state"] == "done"
    assert rest == ""


def test_a_reader_of_curves_has_each_round_once() -> None:
    reader = Reader(Cursor(100.0, {1: 4}))
    text = Batch([measured(1, 4, accuracy=0.4), measured(1, 5, accuracy=0.5)], ("accuracy",)).text_for(reader)
    assert json.loads(text.decode().splitlines()[2].removeprefix("data: "))["runs"]["1"]["rounds"] == [5]
    assert Batch([measured(1, 5, accuracy=0.5)], ("accuracy",)).text_for(reader) == b""
