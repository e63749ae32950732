"""PostgreSQL's own programs, given the platform's database, and what proves that two databases hold the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config.services.account import ServiceError
from config.services.postgres import postgres_program
from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg2.extensions import make_dsn
from psycopg2.sql import SQL, Identifier

from experiments.core.database import snapshot
from experiments.operations.backup.archive import BackupError, TableFacts

# A session is as good as a password while it lasts; everybody logs in again after a restore.
LEFT_OUT = "django_session"
PORTABLE = ("--no-owner", "--no-privileges")
# Independent of the order of rows, and the same on every machine and version.
TABLE_FACTS = "SELECT count(*), sum(('x' || left(md5(each::text), 16))::bit(64)::bigint::numeric) FROM {} AS each"


@contextmanager
def share_snapshot() -> Iterator[str]:
    """The name of a snapshot that further connections can read too, as long as this lasts."""
    with snapshot(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot()")
        yield str(cursor.fetchone()[0])


def dump_database(path: Path, moment: str) -> None:
    left_out = f"--exclude-table-data={LEFT_OUT}"
    run_program("pg_dump", "--format=custom", *PORTABLE, f"--snapshot={moment}", left_out, f"--file={path}")


def load_dump(path: Path) -> None:
    """In place of whatever tables there are; all or nothing."""
    with connection.cursor() as cursor:
        if tables := connection.introspection.table_names(cursor):
            names = SQL(", ").join(map(Identifier, tables))
            cursor.execute(SQL("DROP TABLE {} CASCADE").format(names).as_string(cursor.cursor))
    connection.close()
    run_program("pg_restore", "--single-transaction", "--exit-on-error", "--clean", "--if-exists", *PORTABLE, str(path))


def run_program(name: str, *arguments: str) -> None:
    """With the password in its environment, which other accounts cannot read, and not in the process list."""
    environment = {"PATH": os.defpath, "LC_ALL": "C", "PGPASSWORD": database_password()}
    command = [str(find_program(name)), f"--dbname={database_address()}", "--no-password", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise BackupError(f"{name} failed: {last}")


def find_program(name: str) -> Path:
    """The embedded server's, or where that is not installed the machine's own."""
    try:
        return postgres_program(name)
    except ServiceError:
        if path := shutil.which(name):
            return Path(path)
        raise BackupError(f"{name} is not on this machine: install PostgreSQL's client programs.") from None


def database_password() -> str:
    database: dict[str, Any] = connection.settings_dict
    return str(database["OPTIONS"].get("password") or database["PASSWORD"])


def database_address() -> str:
    """Without what must not show in a process list, wherever in DATABASE_URL it stands."""
    database: dict[str, Any] = connection.settings_dict
    place = {"dbname": database["NAME"], "user": database["USER"], "host": database["HOST"], "port": database["PORT"]}
    printable = {name: value for name, value in database["OPTIONS"].items() if name not in ("password", "sslpassword")}
    options = {name: value for name, value in printable.items() if isinstance(value, str | int)}
    return str(make_dsn(**{name: value for name, value in (place | options).items() if value != ""}))


def all_table_facts() -> dict[str, TableFacts]:
    models = (model._meta for model in apps.get_models(include_auto_created=True))
    names = sorted({model.db_table for model in models if model.managed} - {LEFT_OUT})
    return {name: table_facts(name) for name in names}


def table_facts(table: str) -> TableFacts:
    with connection.cursor() as cursor:
        cursor.execute(SQL(TABLE_FACTS).format(Identifier(table)).as_string(cursor.cursor))
        rows, total = cursor.fetchone()
    return TableFacts(rows, str(total or 0))


def applied_migrations() -> list[str]:
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def unknown_migrations(applied: list[str]) -> list[str]:
    """Those that this Tributary has not: it is older than the database."""
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations or ()}
    return [each for each in applied if each not in known]


def server_version() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return str(cursor.fetchone()[0]).split()[0]
