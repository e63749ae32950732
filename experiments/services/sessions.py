"""How long a process that writes down runs may stand still in the middle of a transaction."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created


def bound_transactions() -> None:
    """For every connection that this process makes from now on.

    A worker that is frozen or cut off between two statements would keep its lock on the run's row for as long as its
    connection seems alive, and nobody could take the run away. PostgreSQL ends such a session when its lease is over.
    """
    connection_created.connect(bound, dispatch_uid="bound_transactions")


def bound(connection: BaseDatabaseWrapper, **_: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{settings.LEASE}s'")
