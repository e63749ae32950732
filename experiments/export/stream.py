"""Bytes that are made in a thread while they are sent."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Generator

from asgiref.sync import sync_to_async
from django.db import connection

GZIP = 16 + zlib.MAX_WBITS
QUICKLY = 1


async def streamed(parts: Generator[bytes]) -> AsyncIterator[bytes]:
    """Each part in the request's own thread, where the database's connection is; closed when the reader leaves."""
    try:
        while (part := await sync_to_async(taken)(parts)) is not None:
            if part:
                yield part
    finally:
        await sync_to_async(close)(parts)


def taken(parts: Generator[bytes]) -> bytes | None:
    return next(parts, None)


def close(parts: Generator[bytes]) -> None:
    """And the connection of this thread: a stream outlives the request that began it."""
    parts.close()
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
