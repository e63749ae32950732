"""Django's PostgreSQL, and a lost connection that is always told as one."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import psycopg2
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property


class ConnectionErrorWrapper(DatabaseErrorWrapper):
    """Makes the error that has no kind and no code from the server an `OperationalError`.

    psycopg2 raises a plain `DatabaseError` where the connection breaks while a statement is sent. On Unix sockets that
    is what a restarted server looks like, and whoever waits for the database to come back waits for `OperationalError`.
    """

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc_type is psycopg2.DatabaseError and getattr(exc_value, "pgcode", None) is None:
            exc_type = psycopg2.OperationalError
        super().__exit__(exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    @cached_property
    def wrap_database_errors(self) -> Any:
        return ConnectionErrorWrapper(self)
