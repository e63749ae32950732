"""One connection per web process listens to PostgreSQL and hands what changed to the streams that want it.

However many read, a change is read, coalesced and written out once; a batch goes to all readers in one call. Readers
whose token, session or account ended meanwhile are sent away.
"""

from __future__ import annotations

import asyncio
import json
import logging
import select
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Condition, Thread
from typing import Any

import psycopg2
from django.db import Error, connection
from psycopg2.extensions import ISOLATION_LEVEL_AUTOCOMMIT

from experiments.access.selectors.credentials import Credential, valid_credentials
from experiments.results.live.changes import Changes, Version
from experiments.results.live.events import EventScope, Position, Reader
from experiments.results.live.notify import ACCESS_EVENT, CHANNEL

logger = logging.getLogger(__name__)

MOST_PENDING = 5_000
"""Events that wait for one reader; who has more to read comes back and reads them from the database."""
BATCH_SECONDS = 0.25
BATCH_SECONDS_PER_READER = 0.0025
"""A batch takes a quarter of a millisecond for each reader: pages must come through, however many there are."""
PACE_SECONDS_PER_READER = 0.025
"""A page asks for its parts again at most once a second, and less often where more than forty ask a process.

Charts and states go on by what events carry, so that a page of many is no older for it."""
ACCESS_SECONDS = 15.0
WAIT_SECONDS = 5.0
LINGER_SECONDS = 30.0
RETRY_SECONDS = 1.0


@dataclass(frozen=True)
class LiveEvent:
    """What changed, and the same as text for every stream."""

    payload: str

    @cached_property
    def fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self.payload)
        return fields


Events = Sequence[LiveEvent]


class Batch:
    """Events that go to all who wished for them, and what was written for the first of those who are equally far.

    With `curves`, rounds go out as one event of all runs, with these metrics only.
    """

    def __init__(self, events: Events, curves: tuple[str, ...] = ()) -> None:
        self.events, self.curves = events, curves
        self.runs = frozenset(each.fields["run"] for each in events if "run" in each.fields)
        moments = [float(each.fields.get("at", 0.0)) for each in events] or [0.0]
        self.begins, self.ends = moments[0], max(moments)
        self.texts: dict[Position, tuple[bytes, Reader]] = {}

    def text_for(self, reader: Reader) -> bytes:
        """What is news to the reader, who has it then. Each event says how far they are with it."""
        position = reader.position(self.runs, self.begins, self.ends)
        if position not in self.texts:
            first = reader.copy()
            self.texts[position] = event_messages(self.events, first, self.curves), first
        text, follower = self.texts[position]
        reader.follow(follower, self.runs)
        return text


def event_messages(events: Events, reader: Reader, curves: tuple[str, ...] = ()) -> bytes:
    if curves:
        return curve_messages([each for each in events if reader.is_news(each.fields)], reader, curves)
    return "".join(message(each, reader) for each in events if reader.is_news(each.fields)).encode()


def message(event: LiveEvent, reader: Reader) -> str:
    return f"event: {event.fields['event']}\nid: {reader.cursor}\ndata: {event.payload}\n\n"


def curve_messages(news: Events, reader: Reader, curves: tuple[str, ...]) -> bytes:
    """Rounds first: whoever has an id has them."""
    rounds = [each.fields for each in news if each.fields["event"] == "metric"]
    others = latest_only([each for each in news if each.fields["event"] != "metric"])
    together = [LiveEvent(json.dumps(curves_event(rounds, curves)))] if rounds else []
    return "".join(message(each, reader) for each in [*together, *others]).encode()


def curves_event(rounds: Sequence[dict[str, Any]], curves: tuple[str, ...]) -> dict[str, Any]:
    runs: dict[int, dict[str, Any]] = {}
    for each in rounds:
        run = runs.setdefault(each["run"], {"rounds": [], "values": {name: [] for name in curves}})
        run["rounds"].append(each["round"])
        for name, values in run["values"].items():
            values.append(each["metrics"].get(name))
    return {"event": "curves", "at": rounds[-1]["at"], "runs": runs}


def latest_only(events: Events) -> Events:
    """Of each run and each study its last event of a kind, in the order of these."""
    latest = {(each.fields["event"], each.fields.get("run"), each.fields.get("study")): each for each in events}
    chosen = {id(each) for each in latest.values()}
    return [each for each in events if id(each) in chosen]


@dataclass(frozen=True)
class Wish:
    """What a stream is to hear: of one study, one run or everything; every round, or the latest of each run.

    With `curves`, every round of these metrics, and the latest of all else.
    """

    scope: EventScope
    latest: bool = False
    curves: tuple[str, ...] = ()

    def select(self, events: Events) -> Events:
        wanted = [each for each in events if self.scope.covers(each.fields)]
        return latest_only(wanted) if self.latest and not self.curves else wanted


class Subscriber:
    """What waits for one stream. Once ended, its reader comes back with its cursor, if it may."""

    def __init__(self, wish: Wish, credential: Credential) -> None:
        self.wish, self.credential = wish, credential
        self.loop = asyncio.get_running_loop()
        self.pending: list[Batch] = []
        self.arrived = asyncio.Event()
        self.ended = False

    def put(self, batch: Batch) -> None:
        self.pending.append(batch)
        if sum(len(each.events) for each in self.pending) > MOST_PENDING:
            self.end()
        self.arrived.set()

    def end(self) -> None:
        self.pending, self.ended = [], True
        self.arrived.set()

    async def take(self) -> list[Batch] | None:
        """All that has come since, as soon as there is something; None at the end."""
        await self.arrived.wait()
        self.arrived.clear()
        batches, self.pending = self.pending, []
        return None if self.ended else batches


class Listener:
    """Started by the first subscriber; ends by itself when there has been none for a while."""

    def __init__(self) -> None:
        self.subscribers: set[Subscriber] = set()
        self.pending: list[LiveEvent] = []
        self.changed = Condition()
        self.thread: Thread | None = None
        self.listening = False
        self.changes = Changes()

    async def subscribe(self, wish: Wish, credential: Credential) -> Subscriber:
        """From when it returns, no notification is missed. Raises `TimeoutError` if the database does not answer."""
        subscriber = Subscriber(wish, credential)
        with self.changed:
            self.hand_out()  # what came before is not for this one
            self.subscribers.add(subscriber)
            self.start()
        try:
            if not self.listening:
                await asyncio.to_thread(self.wait_until_listening)
        except BaseException:
            self.unsubscribe(subscriber)
            raise
        return subscriber

    def version(self, scope: EventScope, seen: float | None = None) -> Version | None:
        """How often the scope has changed as far as its readers were told; None where nobody listens in this process.

        `seen` is the moment of the last event that whoever asks was sent, which may have been by another web process.
        Whatever is read from the database after this call is at least as new as the version.
        """
        with self.changed:
            if not self.listening or not self.subscribers:
                return None
            if seen is not None and not self.changes.has_seen(seen):
                self.hand_out()
                if not self.changes.has_seen(seen):
                    return None
            return self.changes.version(scope)

    @property
    def pace(self) -> float:
        return PACE_SECONDS_PER_READER * len(self.subscribers)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        with self.changed:
            self.subscribers.discard(subscriber)

    def start(self) -> None:
        if self.thread is None:
            self.thread = Thread(target=self.run, name="listener", daemon=True)
            self.thread.start()

    def wait_until_listening(self) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: self.listening, WAIT_SECONDS):
                raise TimeoutError("The database does not answer.")

    def run(self) -> None:
        while True:
            try:
                self.listen()
            except (psycopg2.Error, Error) as error:
                logger.warning("The listener lost the database, trying again: %s", error)
            self.set_listening(False)
            self.send_away(self.current_subscribers())
            with self.changed:
                if not self.subscribers:
                    self.thread = None
                    return
                self.changed.wait(RETRY_SECONDS)

    def listen(self) -> None:
        """Returns when nobody has been there for a while."""
        raw = psycopg2.connect(**connection.get_connection_params())
        try:
            raw.set_isolation_level(ISOLATION_LEVEL_AUTOCOMMIT)
            with raw.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self.set_listening(True)
            self.hand_on(raw)
        finally:
            raw.close()

    def hand_on(self, raw: Any) -> None:
        """At once, but what comes while a batch has just gone out waits for the next one."""
        last_reader = last_check = time.monotonic()
        next_batch = 0.0
        while True:
            pause = next_batch - time.monotonic() if self.pending else ACCESS_SECONDS
            events = read_events(raw, max(0.0, pause))
            now = time.monotonic()
            if any(each.fields["event"] == ACCESS_EVENT for each in events) or now - last_check >= ACCESS_SECONDS:
                self.check_access()
                last_check = now
            with self.changed:
                self.pending += [each for each in events if each.fields["event"] != ACCESS_EVENT]
                if self.pending and now >= next_batch:
                    self.hand_out()
                    next_batch = now + max(BATCH_SECONDS, BATCH_SECONDS_PER_READER * len(self.subscribers))
                if self.subscribers:
                    last_reader = now
                elif now - last_reader >= LINGER_SECONDS:
                    self.listening = False
                    return

    def set_listening(self, listening: bool) -> None:
        with self.changed:
            self.listening = listening
            self.changes.start_over()
            self.changed.notify_all()

    def current_subscribers(self) -> list[Subscriber]:
        with self.changed:
            return list(self.subscribers)

    def check_access(self) -> None:
        subscribers = self.current_subscribers()
        try:
            valid = valid_credentials({each.credential for each in subscribers})
        finally:
            connection.close()
        self.send_away(each for each in subscribers if each.credential not in valid)

    def send_away(self, subscribers: Iterable[Subscriber]) -> None:
        for each in subscribers:
            call_in_loop(each.loop, each.end)

    def hand_out(self) -> None:
        """What each wish selects is selected once; each event loop is called once. Call with `changed` held."""
        events, self.pending = self.pending, []
        self.changes.add(each.fields for each in events)
        selected: dict[tuple[Wish, asyncio.AbstractEventLoop], Batch] = {}
        readers: dict[asyncio.AbstractEventLoop, list[tuple[Subscriber, Batch]]] = {}
        for each in self.subscribers if events else ():
            wish = (each.wish, each.loop)
            if wish not in selected:
                selected[wish] = Batch(each.wish.select(events), each.wish.curves)
            if selected[wish].events:
                readers.setdefault(each.loop, []).append((each, selected[wish]))
        for loop, batches in readers.items():
            call_in_loop(loop, put_all, batches)


def put_all(batches: Iterable[tuple[Subscriber, Batch]]) -> None:
    for subscriber, batch in batches:
        subscriber.put(batch)


def call_in_loop(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: Any) -> None:
    """From the listener's thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function, *arguments)


def read_events(raw: Any, patience: float) -> list[LiveEvent]:
    """All that is there, as soon as there is something."""
    select.select([raw], [], [], patience)
    raw.poll()
    events = [LiveEvent(notification.payload) for notification in raw.notifies]
    raw.notifies.clear()
    return events


listener = Listener()
