"""Backups of the test's database, brought back by the real command into databases and homes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg2
import pytest
from config.env import ROOT
from config.home import Home
from config.services.account import erase_data
from config.services.postgres import Postgres, postgres_program
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from pytest_django import Settings

from experiments.models import Attempt, AuditEntry, Run, RunState, User
from experiments.operations.backup.archive import BackupError
from experiments.operations.backup.backup import create_backup
from tests.experiments.lab import NOON, launched, moved, record, runs_in_order
from tests.live import database_url

pytestmark = pytest.mark.django_db(transaction=True)
TOUCHED = {f"experiments_{name}" for name in ("run", "attempt", "worker", "membership", "auditentry")}
"""Where the run that was at work is queued again, and where the restore is noted."""


@pytest.fixture
def home(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.HOME = Home(tmp_path / "home").make()
    monkeypatch.setenv("TRIBUTARY_HOME", str(settings.HOME.path))
    return tmp_path / "home"


@pytest.fixture
def new_home() -> Iterator[Home]:
    """On a path that the database's own account can pass through."""
    found = Home(Path(tempfile.mkdtemp(prefix="tributary-restored-")) / "home")
    yield found
    erase_data(found, "postgres")
    shutil.rmtree(found.path.parent)


@pytest.fixture
def new_database(postgres: Postgres) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE restored")
    yield database_url("restored")
    with connection.cursor() as cursor:
        cursor.execute("DROP DATABASE restored WITH (FORCE)")


@pytest.fixture
def lab(home: Path) -> list[Run]:
    """A done run with its model, one at work with a checkpoint and a growing log, four queued; and own data."""
    owner = User.objects.create(username="owner", role="member", password="md5$salt$hashed")
    runs = runs_in_order(launched(owner))
    done, working = record(runs[0], {"accuracy": [0.1, float("nan"), 0.9]}), moved(runs[1], RunState.RUNNING)
    put(home, f"runs/{done.pk}/artifacts/abc/model.safetensors", b"weights")
    put(home, f"runs/{done.pk}/artifacts/.unfinished", b"half")
    Run.objects.filter(pk=done.pk).update(artifact=f"runs/{done.pk}/artifacts/abc/model.safetensors")
    checkpoint = put(home, f"runs/{working.pk}/checkpoints/round-00000001.x/state.json", b"{}").parent
    put(home, f"runs/{working.pk}/log.txt", b"Attempt 1 on worker-1\n")
    put(home, "datasets/npz-own/manifest.json", b"{}")
    put(home, "datasets/mnist/manifest.json", b"{}")
    Attempt.objects.create(run=working, number=1, token=uuid4(), worker="w", started=NOON, checkpoint=str(checkpoint))
    return runs


def put(home: Path, name: str, raw: bytes) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return path


def manage(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=False)


def manifest(path: Path) -> dict[str, Any]:
    with tarfile.open(path) as tar:
        file = tar.extractfile("manifest.json")
        assert file
        return json.load(file)


def answer(url: str, sql: str) -> list[tuple[Any, ...]]:
    found = psycopg2.connect(url)
    try:
        with found.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()
    finally:
        found.close()


def test_a_backup_holds_what_belongs_to_the_lab_and_no_secret(lab: list[Run], home: Path, tmp_path: Path) -> None:
    session = SessionStore()
    session.save()
    report = create_backup(tmp_path / "lab.backup")
    held = manifest(tmp_path / "lab.backup")

    assert sorted(held["files"]) == [
        "database.dump",
        "home/datasets/npz-own/manifest.json",
        f"home/runs/{lab[0].pk}/artifacts/abc/model.safetensors",
        f"home/runs/{lab[1].pk}/checkpoints/round-00000001.x/state.json",
        f"home/runs/{lab[1].pk}/log.txt",
    ]
    assert (held["tables"]["experiments_run"]["rows"], held["tables"]["experiments_curveblock"]["rows"]) == (6, 1)
    assert report.models_elsewhere == 0
    with tarfile.open(tmp_path / "lab.backup") as tar:
        tar.extract("database.dump", tmp_path, filter="data")
    dumped = subprocess.check_output(
        [postgres_program("pg_restore"), "--file=-", str(tmp_path / "database.dump")], text=True
    )
    assert "md5$salt$hashed" in dumped
    assert str(session.session_key) not in dumped


def test_a_restored_database_is_the_same_and_its_work_goes_on(
    lab: list[Run], home: Path, tmp_path: Path, new_database: str, new_home: Home
) -> None:
    create_backup(tmp_path / "lab.backup")
    place = {"TRIBUTARY_HOME": str(new_home.path), "DATABASE_URL": new_database}
    done = manage("restore", str(tmp_path / "lab.backup"), **place)

    assert (done.returncode, done.stderr) == (0, "")
    assert "1 studies, 6 runs, 4 files." in done.stdout
    assert "1 runs that were at work are queued again." in done.stdout
    working = lab[1].pk
    assert answer(new_database, f"SELECT state FROM experiments_run WHERE id = {working}") == [("queued",)]
    assert answer(new_database, "SELECT outcome, checkpoint FROM experiments_attempt") == [
        ("released", f"runs/{working}/checkpoints/round-00000001.x")
    ]
    assert answer(new_database, "SELECT count(*) FROM experiments_metric WHERE value = 'NaN'") == [(1,)]
    assert (new_home.path / f"runs/{working}/log.txt").read_bytes() == b"Attempt 1 on worker-1\n"
    assert (new_home.path / f"runs/{lab[0].pk}/artifacts/abc/model.safetensors").read_bytes() == b"weights"
    assert [each.name for each in new_home.path.glob(".restore-*")] == []
    last_entry = "SELECT action, subject, detail->'requeued' FROM experiments_auditentry ORDER BY id DESC LIMIT 1"
    assert answer(new_database, last_entry) == [("backup.restore", "lab.backup", 1)]
    assert AuditEntry.objects.latest("pk").action == "backup"

    again = manage("restore", str(tmp_path / "lab.backup"), **place)
    assert again.returncode == 1
    assert again.stderr.startswith("This database already holds 1 study, which a restore would replace")


def test_a_home_on_which_nothing_runs_is_restored_and_backed_up_too(
    lab: list[Run], home: Path, tmp_path: Path, new_home: Home
) -> None:
    create_backup(tmp_path / "first")
    place = {"TRIBUTARY_HOME": str(new_home.path), "DATABASE_URL": "", "REDIS_URL": ""}
    restored = manage("restore", str(tmp_path / "first"), **place)
    assert (restored.returncode, restored.stderr) == (0, "")
    assert manage("backup", str(tmp_path / "second"), **place).returncode == 0

    first, second = manifest(tmp_path / "first"), manifest(tmp_path / "second")
    same = first["tables"].keys() - TOUCHED
    assert {name: second["tables"][name] for name in same} == {name: first["tables"][name] for name in same}
    assert first["files"].keys() == second["files"].keys()
    assert all(second["files"][name] == first["files"][name] for name in first["files"] if name != "database.dump")


def test_a_backup_of_a_newer_tributary_is_refused(
    lab: list[Run], home: Path, tmp_path: Path, new_database: str, new_home: Home
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('experiments', '9999_later', now())")
    try:
        create_backup(tmp_path / "lab.backup")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE name = '9999_later'")
    place = {"TRIBUTARY_HOME": str(new_home.path), "DATABASE_URL": new_database}
    refused = manage("restore", str(tmp_path / "lab.backup"), **place)
    assert refused.stderr == (
        "The backup was made by a newer Tributary (with experiments.9999_later): install that one first.\n"
    )
    assert answer(new_database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]


def test_a_file_that_is_there_and_a_folder_that_is_not_are_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(BackupError, match="is there already: give the backup another name"):
        create_backup(tmp_path / "mine")
    with pytest.raises(BackupError, match="cannot be written: No such file or directory"):
        create_backup(tmp_path / "nowhere" / "lab.backup")
    assert (tmp_path / "mine").read_text() == "mine"
