"""Bytes that are made in a thread while they are sent."""

from __future__ import annotations

import zlib
from collections.abc import Generator
from typing import Self

from asgiref.sync import sync_to_async
from django.db import connection

GZIP = 16 + zlib.MAX_WBITS
QUICKLY = 1


class Stream:
    """Parts for a response, each made in the request's own thread, where the database's connection is.

    An object instead of a generator: Django calls its `close` in that thread, too, whenever the reader leaves.
    """

    def __init__(self, parts: Generator[bytes]) -> None:
        self.parts = parts

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        part = await sync_to_async(self.take)()
        if part is None:
            raise StopAsyncIteration
        return part

    def take(self) -> bytes | None:
        return next(filter(None, self.parts), None)

    def close(self) -> None:
        """And the connection of this thread: a stream outlives the request that began it."""
        self.parts.close()
        connection.close()


def begun(parts: Generator[bytes]) -> Generator[bytes]:
    """Makes the first part now, so that what cannot be made is refused instead of broken off."""
    first = next(parts, b"")

    def all_of_it() -> Generator[bytes]:
        try:
            yield first
            yield from parts
        finally:
            parts.close()

    return all_of_it()


def gzipped(parts: Generator[bytes]) -> Generator[bytes]:
    press = zlib.compressobj(QUICKLY, wbits=GZIP)
    try:
        for part in parts:
            yield press.compress(part)
        yield press.flush()
    finally:
        parts.close()
