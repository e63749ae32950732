"""The event stream: text/event-stream lines for one reader. While it waits it holds no database connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.db import connection

from experiments.access.selectors.credentials import Credential
from experiments.results.live.events import Cursor, EventScope, Reader, StreamStart, stream_start
from experiments.results.live.listener import LiveEvent, Wish, event_messages, listener

BEAT_SECONDS = 15.0
RETRY_MILLISECONDS = 1_000


async def event_stream(wish: Wish, cursor: Cursor | None, credential: Credential) -> AsyncIterator[bytes]:
    """Listens first and reads what was missed second, so that nothing falls between; repeats are left out."""
    retry = f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    try:
        subscriber = await listener.subscribe(wish, credential)
    except TimeoutError:
        yield retry
        return
    try:
        first = await sync_to_async(read_start_and_close)(wish.scope, cursor)
        reader = Reader(first.cursor)
        greeting = LiveEvent(json.dumps({"event": "hello" if first.complete else "refetch", "pace": listener.pace}))
        missed = wish.select([LiveEvent(json.dumps(each)) for each in first.events])
        yield retry + event_messages([greeting, *missed], reader, wish.curves)
        while True:
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    batches = await subscriber.take()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if batches is None:
                return
            if text := b"".join(batch.text_for(reader) for batch in batches):
                yield text
    finally:
        listener.unsubscribe(subscriber)


def read_start_and_close(scope: EventScope, cursor: Cursor | None) -> StreamStart:
    """Also closes the connection that the log-in check opened in this request's thread."""
    try:
        return stream_start(scope, cursor)
    finally:
        connection.close()
