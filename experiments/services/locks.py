"""Advisory locks of PostgreSQL, by purpose."""

from __future__ import annotations

from enum import IntEnum

from django.db import connection


class Lock(IntEnum):
    HOLDERS = 7_001
    """Which study holds which run: launch, cancel, retry and delete take turns, so that none sees half of another."""
    SCHEDULER = 7_002
    """One scheduler works, others wait to take over."""


def lock_in_transaction(lock: Lock) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int(lock)])


def try_session_lock(lock: Lock) -> bool:
    """Held until the connection ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [int(lock)])
        return bool(cursor.fetchone()[0])
