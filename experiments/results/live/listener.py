"""One connection per web process listens to PostgreSQL and hands each notification to the streams that want it."""

from __future__ import annotations

import asyncio
import json
import logging
import select
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any

import psycopg2
from django.db import connection
from psycopg2.extensions import ISOLATION_LEVEL_AUTOCOMMIT

from experiments.results.live.notify import CHANNEL

logger = logging.getLogger(__name__)
Event = dict[str, Any]

QUEUE_LENGTH = 1_000
WAIT_SECONDS = 5.0
LINGER_SECONDS = 30.0
RETRY_SECONDS = 1.0


class Subscriber:
    """The queue of one stream. None in it means: end the stream, so that the reader comes back with its cursor."""

    def __init__(self, wants: Callable[[Event], bool]) -> None:
        self.wants = wants
        self.loop = asyncio.get_running_loop()
        self.queue: asyncio.Queue[Event | None] = asyncio.Queue(QUEUE_LENGTH)

    def offer(self, event: Event | None) -> None:
        """From the listener's thread."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.put, event)

    def put(self, event: Event | None) -> None:
        if event is None or self.queue.full():
            # A reader that is too slow reads the rest from the database, when it comes back.
            while not self.queue.empty():
                self.queue.get_nowait()
            event = None
        self.queue.put_nowait(event)


class Listener:
    """Started by the first subscriber; ends by itself when there has been none for a while."""

    def __init__(self) -> None:
        self.subscribers: set[Subscriber] = set()
        self.changed = Condition()
        self.thread: Thread | None = None
        self.listening = False

    async def subscribe(self, wants: Callable[[Event], bool]) -> Subscriber:
        """From when it returns, no notification is missed. Raises `TimeoutError` if the database does not answer."""
        subscriber = Subscriber(wants)
        with self.changed:
            self.subscribers.add(subscriber)
            self.start()
        try:
            await asyncio.to_thread(self.wait_until_listening)
        except BaseException:
            self.unsubscribe(subscriber)
            raise
        return subscriber

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
            except psycopg2.Error as error:
                logger.warning("The listener lost the database, trying again: %s", error)
            self.set_listening(False)
            self.hand_out(None)
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
            while True:
                ready, _, _ = select.select([raw], [], [], LINGER_SECONDS)
                raw.poll()
                while raw.notifies:
                    self.hand_out(json.loads(raw.notifies.pop(0).payload))
                with self.changed:
                    if not ready and not self.subscribers:
                        self.listening = False
                        return
        finally:
            raw.close()

    def set_listening(self, listening: bool) -> None:
        with self.changed:
            self.listening = listening
            self.changed.notify_all()

    def hand_out(self, event: Event | None) -> None:
        with self.changed:
            readers = [each for each in self.subscribers if event is None or each.wants(event)]
        for each in readers:
            each.offer(event)


listener = Listener()
