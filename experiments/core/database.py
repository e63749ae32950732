"""Advisory locks of PostgreSQL by purpose, how long a transaction may stand still, and reads of one moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created


class Lock(IntEnum):
    HOLDERS = 7_001
    """Which study holds which run: launch, cancel, retry and delete take turns, so that none sees half of another."""
    SCHEDULER = 7_002
    """One scheduler works, others wait to take over."""
    LOG_IN = 7_003
    """Tries at the log-in are counted one after another, before a password is looked at; sign-ons take turns."""
    JOBS = 7_004
    """Claims of housekeeping jobs take turns, so that no more of a kind begin than may run at once."""


def lock_in_transaction(lock: Lock) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int(lock)])


def try_session_lock(lock: Lock) -> bool:
    """Held until the connection ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [int(lock)])
        return bool(cursor.fetchone()[0])


def set_db_timeouts() -> None:
    """For every connection that this process makes from now on.

    A worker that is frozen or cut off between two statements would keep its lock on the run's row for as long as its
    connection seems alive, and nobody could take the run away. PostgreSQL ends such a session when its lease is over.
    """
    connection_created.connect(set_idle_timeout, dispatch_uid="set_db_timeouts")


def set_idle_timeout(connection: BaseDatabaseWrapper, **_: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{settings.LEASE}s'")


READ_ONLY_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A reader that stalls would keep PostgreSQL from clearing away what was overwritten meanwhile.
IDLE_TIMEOUT = "SET LOCAL idle_in_transaction_session_timeout = '10min'"


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
            cursor.execute(READ_ONLY_SNAPSHOT)
            cursor.execute(IDLE_TIMEOUT)
        yield
