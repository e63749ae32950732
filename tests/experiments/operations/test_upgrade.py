"""Every migration meets rows in every table, as it does in a lab that has worked with the version before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tests.live import database_url

MODULE = "tests.experiments.operations.upgrade"


@pytest.fixture(scope="module")
def upgrade(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, Any]]:
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE upgraded")
        try:
            environment = os.environ | {"DATABASE_URL": database_url("upgraded")}
            done = subprocess.run(
                [sys.executable, "-m", MODULE], env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            yield json.loads(done.stdout)
        finally:
            cursor.execute("DROP DATABASE upgraded WITH (FORCE)")
    connection.close()


def test_no_migration_loses_a_row_of_a_filled_table(upgrade: dict[str, Any]) -> None:
    assert len(upgrade["lost"]) >= 8
    assert [name for name, tables in upgrade["lost"].items() if tables] == []
    assert upgrade["empty"] == []


def test_the_models_of_today_read_what_was_written_then(upgrade: dict[str, Any]) -> None:
    assert {"Run", "Metric", "Round", "Study", "User"} <= upgrade["read"].keys()
    # Values of the version before, and a block of each run: both are read as curves.
    assert {name: rows for name, rows in upgrade["read"].items() if rows != 3} == {"Curve": 6, "Metric": 6}


def test_what_was_computed_and_waits_is_told_by_later_columns(upgrade: dict[str, Any]) -> None:
    """A queued run that no device began, one at work on its worker's, and one that a GPU did for a study for GPUs."""
    assert upgrade["runs"] == [["queued", "", "cpu"], ["running", "mps", "cpu"], ["done", "cuda", "gpu"]]
    assert upgrade["waiting"] == [True, False, False]
    assert upgrade["validation"] == [0.1, 0, 0]
