"""Reading one moment of the database a piece at a time, in PostgreSQL's binary form."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Any

from django.db import OperationalError, connection

from workers.errors import TributaryError

Fields = list[bytes]
HEADER = 19
"""Bytes before the first row: the signature, flags and the length of nothing more."""
LENGTH = struct.Struct(">i")
COUNT = struct.Struct(">h")
END = COUNT.pack(-1)
PATIENCE_SECONDS = 0.1
STALLED_SECONDS = 600.0
"""A reader that takes nothing for so long is given up: its query keeps PostgreSQL from clearing up behind writers."""


def copy_rows(sql: str, parameters: Mapping[str, Any], size: int) -> Iterator[list[Fields]]:
    """The rows of a query that has no nulls, about `size` bytes of them at a time."""
    with connection.cursor() as cursor, ThreadPoolExecutor(1) as maker:
        statement = cursor.mogrify(f"COPY ({sql}) TO STDOUT (FORMAT binary)", parameters).decode()
        pieces = PieceBuffer(size, connection.connection.cancel)
        filling = maker.submit(pieces.fill, cursor, statement)
        try:
            yield from take_pieces(pieces.ready, filling)
        except GeneratorExit:
            pieces.give_up()
            filling.exception()
            raise
        filling.result()


def take_pieces(ready: Queue[list[Fields] | None], filling: Future[None]) -> Iterator[list[Fields]]:
    while not (filling.done() and ready.empty()):
        with suppress(Empty):
            if (piece := ready.get(timeout=PATIENCE_SECONDS)) is None:
                return
            yield piece


class PieceBuffer:
    """What psycopg2 writes into, a row a call; it waits while a piece is ready that nobody has taken."""

    def __init__(self, size: int, cancel: Callable[[], None]) -> None:
        self.size, self.cancel = size, cancel
        self.ready: Queue[list[Fields] | None] = Queue(1)
        self.rows: list[Fields] = []
        self.piece_bytes = 0
        self.header_read, self.has_reader = False, True

    def give_up(self) -> None:
        """The query ends with an error; what is still written is thrown away."""
        self.has_reader = False
        self.cancel()

    def fill(self, cursor: Any, statement: str) -> None:
        try:
            cursor.copy_expert(statement, self)
            self.hand_over(self.rows or None)
        except OperationalError:
            if self.has_reader:
                raise
        finally:
            self.hand_over(None)
        if not self.has_reader:
            raise TributaryError(f"The export was given up: nothing of it was read for {STALLED_SECONDS:.0f} s.")

    def write(self, data: bytes) -> None:
        row = data if self.header_read else data[HEADER:]
        self.header_read = True
        if not row or row == END:
            return
        self.rows.append(split_fields(row))
        self.piece_bytes += len(row)
        if self.piece_bytes >= self.size:
            self.hand_over(self.rows)
            self.rows, self.piece_bytes = [], 0

    def hand_over(self, piece: list[Fields] | None) -> None:
        deadline, delivered = time.monotonic() + STALLED_SECONDS, False
        while self.has_reader and not delivered:
            try:
                self.ready.put(piece, timeout=PATIENCE_SECONDS)
                delivered = True
            except Full:
                if time.monotonic() > deadline:
                    self.give_up()


def split_fields(row: bytes) -> Fields:
    fields, place = [], COUNT.size
    for _ in range(COUNT.unpack_from(row)[0]):
        start = place + LENGTH.size
        place = start + LENGTH.unpack_from(row, place)[0]
        fields.append(row[start:place])
    return fields


Rows = Sequence[Any]


def fetch_pieces(sql: str, parameters: Mapping[str, Any], size: int) -> Iterator[Rows]:
    """The answer's rows from a cursor that stays in the server, so many at a time.

    The next ones are fetched while these are used, so that PostgreSQL and this process work at once.
    """
    with connection.chunked_cursor() as cursor, ThreadPoolExecutor(1) as ahead:
        cursor.execute(sql, parameters)
        coming = ahead.submit(cursor.fetchmany, size)
        while rows := coming.result():
            coming = ahead.submit(cursor.fetchmany, size)
            yield rows
