"""The event stream: text/event-stream lines for one reader. While it waits it holds no database connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection

from experiments.results.live.events import Cursor, EventScope, Reader, StreamStart, stream_start
from experiments.results.live.listener import listener

BEAT_SECONDS = 15.0
RETRY_MILLISECONDS = 1_000


async def event_stream(scope: EventScope, cursor: Cursor | None) -> AsyncIterator[str]:
    """Listens first and reads what was missed second, so that nothing falls between; repeats are left out."""
    try:
        subscriber = await listener.subscribe(scope.covers)
    except TimeoutError:
        yield f"retry: {RETRY_MILLISECONDS}\n\n"
        return
    try:
        first = await sync_to_async(read_start_and_close)(scope, cursor)
        reader = Reader(first.cursor)
        greeting = {"event": "hello" if first.complete else "refetch"}
        yield f"retry: {RETRY_MILLISECONDS}\n\n" + event_message(greeting, reader)
        for event in first.events:
            if reader.is_news(event):
                yield event_message(event, reader)
        while True:
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    event_or_end = await subscriber.queue.get()
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if event_or_end is None:
                return
            if reader.is_news(event_or_end):
                yield event_message(event_or_end, reader)
    finally:
        listener.unsubscribe(subscriber)


def read_start_and_close(scope: EventScope, cursor: Cursor | None) -> StreamStart:
    """Also closes the connection that the log-in check opened in this request's thread."""
    try:
        return stream_start(scope, cursor)
    finally:
        connection.close()


def event_message(event: dict[str, Any], reader: Reader) -> str:
    return f"event: {event['event']}\nid: {reader.cursor}\ndata: {json.dumps(event)}\n\n"
