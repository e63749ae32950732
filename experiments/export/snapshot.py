"""Reading a moment of the database, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

Rows = Sequence[Any]
BEGIN = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A reader that stalls would keep PostgreSQL from clearing away what was overwritten meanwhile.
PATIENCE = "SET LOCAL idle_in_transaction_session_timeout = '10min'"


@contextmanager
def snapshot() -> Iterator[None]:
    """All reads inside see the database as it was at the first of them, whatever runs commit meanwhile.

    Inside a transaction of the caller's own, that one decides.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(BEGIN)
            cursor.execute(PATIENCE)
        yield


def pieces(sql: str, parameters: Mapping[str, Any], size: int) -> Iterator[Rows]:
    """The answer's rows from a cursor that stays in the server, so many at a time.

    The next ones are fetched while these are used, so that PostgreSQL and this process work at once.
    """
    with connection.chunked_cursor() as cursor, ThreadPoolExecutor(1) as ahead:
        cursor.execute(sql, parameters)
        coming = ahead.submit(cursor.fetchmany, size)
        while rows := coming.result():
            coming = ahead.submit(cursor.fetchmany, size)
            yield rows
