"""A lab whose files are in a store: what its pages, archives, backups and clearing up see of it."""

from __future__ import annotations

import os
import tarfile
from datetime import timedelta
from io import StringIO
from pathlib import Path
from shutil import rmtree
from uuid import UUID

import pytest
from config.home import Home
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.test import Client
from pytest_django import Settings

from experiments.models import Attempt, Outcome, Run, RunState, User
from experiments.operations.backup.backup import create_backup
from experiments.operations.doctor.files import check_models, check_store
from experiments.operations.doctor.findings import Finding, Severity
from experiments.operations.store import PushReport, checkpoints_make_relative, store_push
from experiments.queue.services.retention import remove_ended_attempts, remove_run_folders, retention_apply
from experiments.results.selectors.files import LogPart, RunFile, kept_files, run_files, run_log
from experiments.study_archives.selectors import run_archive_files
from tests.experiments.lab import NOON, launched, moved, runs_in_order
from tests.live import eventually
from workers.home import artifact_folder, attempt_folder, run_folder
from workers.store import store as store_module
from workers.store.store import Store, remote_store

pytestmark = pytest.mark.django_db
DONE, FAILED = UUID(int=1), UUID(int=2)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Store:
    settings.HOME = Home(tmp_path / "home").make()
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TRIBUTARY_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(store_module, "PAUSES", ())
    monkeypatch.setattr(store_module, "REST_SECONDS", 0.0)
    store = remote_store()
    assert store is not None
    store.create()
    return store


@pytest.fixture
def lab(owner: User, store: Store, tmp_path: Path) -> list[Run]:
    """Done with a model, and failed with a checkpoint; both with a log. In the store, and nothing of it in the home."""
    done, failed, *_ = runs_in_order(launched(owner))
    for run, token, outcome in ((done, DONE, Outcome.DONE), (failed, FAILED, Outcome.FAILED)):
        moved(run, RunState(outcome))
        Attempt.objects.create(run=run, number=1, token=token, worker="w", started=NOON, ended=NOON, outcome=outcome)
        (tmp_path / "log").write_text(f"Attempt 1 at run {outcome}\n")
        store.upload(tmp_path / "log", f"logs/{run.pk}/0001.{token.hex}.txt")
    (tmp_path / "part").write_bytes(b"weights")
    folder = f"runs/{done.pk}/artifacts/{DONE.hex}"
    store.publish(folder, {"model.safetensors": tmp_path / "part"})
    Run.objects.filter(pk=done.pk).update(artifact=f"{folder}/model.safetensors")
    key = f"runs/{failed.pk}/checkpoints/round-00000010.{FAILED.hex}"
    store.publish(key, {"state.json": tmp_path / "part"})
    Attempt.objects.filter(run=failed).update(checkpoint=key, checkpoint_round=10)
    return [Run.objects.get(pk=each.pk) for each in (done, failed)]


def test_pages_find_them_there(lab: list[Run], as_owner: Client) -> None:
    done, failed = lab
    assert run_files(done)[1:] == [
        RunFile("model.safetensors", "The final model's parameters", 7),
        RunFile("log.txt", "Everything that the run said", 22),
    ]
    assert [file.name for file in run_files(failed)] == ["spec.yaml", "log.txt"]
    assert model_file_of(done) == b"weights"
    assert as_owner.get(f"/runs/{done.pk}").status_code == 200


def model_file_of(run: Run) -> bytes:
    return kept_files(run)["model.safetensors"].path().read_bytes()


def test_the_log_is_what_all_attempts_said(lab: list[Run], store: Store, tmp_path: Path) -> None:
    done, _ = lab
    (tmp_path / "more").write_text("Attempt 2\n")
    store.upload(tmp_path / "more", f"logs/{done.pk}/0002.{FAILED.hex}.txt")
    assert run_log(run=done.pk) == LogPart("Attempt 1 at run done\nAttempt 2\n", 32, 32)
    assert run_log(run=done.pk, after=18, limit=8) == LogPart("one\nAtte", 26, 32)
    assert run_log(run=done.pk + 1000) == LogPart("", 0, 0, here=False)


def test_a_store_that_is_away_has_nothing_and_the_page_is_shown(
    lab: list[Run], as_owner: Client, tmp_path: Path
) -> None:
    run_files(lab[0])
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    assert as_owner.get(f"/runs/{lab[0].pk}").status_code == 200
    assert run_log(run=lab[0].pk) == LogPart("", 0, 0, here=False)
    refused = as_owner.get(f"/runs/{lab[0].pk}/files/model.safetensors")
    assert refused.status_code == 503
    assert b"Is it mounted" in refused.content


def test_an_archive_has_them(lab: list[Run]) -> None:
    names = {name: b"".join(content) for name, content in run_archive_files(lab[0], "runs/0000")}
    assert names["runs/0000/model.safetensors"] == b"weights"
    assert names["runs/0000/log.txt"] == b"Attempt 1 at run done\n"


@pytest.mark.django_db(transaction=True)
def test_a_backup_brings_them(lab: list[Run], tmp_path: Path) -> None:
    done, failed = lab
    report = create_backup(tmp_path / "lab.backup")
    with tarfile.open(tmp_path / "lab.backup") as tar:
        names = {name for name in tar.getnames() if name.startswith("home/runs/")}
        assert names == {
            f"home/runs/{done.pk}/log.txt",
            f"home/runs/{done.pk}/artifacts/{DONE.hex}/model.safetensors",
            f"home/runs/{failed.pk}/log.txt",
            f"home/runs/{failed.pk}/checkpoints/round-00000010.{FAILED.hex}/state.json",
        }
        model = tar.extractfile(f"home/runs/{done.pk}/artifacts/{DONE.hex}/model.safetensors")
        assert model is not None
        assert model.read() == b"weights"
    assert report.models_elsewhere == 0


def test_old_checkpoints_and_logs_go_and_models_stay(lab: list[Run], store: Store, settings: Settings) -> None:
    settings.KEEP_CHECKPOINTS, settings.KEEP_LOGS = 30, 365
    done, failed = lab
    Run.objects.filter(pk=failed.pk).update(finished=Now() - timedelta(days=31))
    assert retention_apply() == 1
    eventually(lambda: store.folders(f"runs/{failed.pk}") == [], 20)
    assert Attempt.objects.exclude(checkpoint="").count() == 0
    Run.objects.filter(pk=done.pk).update(finished=Now() - timedelta(days=366))
    assert retention_apply() == 1
    eventually(lambda: store.folders("logs") == [str(failed.pk)], 20)
    assert store.folders(f"runs/{done.pk}") == ["artifacts"]


def test_what_is_deleted_leaves_the_store_too(lab: list[Run], store: Store) -> None:
    remove_run_folders([each.pk for each in lab])
    eventually(lambda: not store.folders("runs") and not store.folders("logs"), 20)


def test_what_a_killed_worker_left_behind_is_cleared_up_by_the_next(lab: list[Run], store: Store) -> None:
    left, young = attempt_folder(lab[1].pk, FAILED), attempt_folder(lab[0].pk, DONE)
    for folder in (left, young):
        folder.mkdir(parents=True)
    os.utime(left, (1, 1))
    remove_ended_attempts()
    assert (left.exists(), young.exists()) == (False, True)


def test_the_doctor_tells_whether_it_answers_and_what_belongs_to_nobody(
    lab: list[Run], store: Store, tmp_path: Path
) -> None:
    assert list(check_store()) == [Finding(Severity.GOOD, f"The store {store.label} answers, and has files of 2 runs.")]
    assert [each.severity for each in check_models()] == [Severity.GOOD]
    store.upload(tmp_path / "part", "logs/999999/0001.txt")
    (unknown,) = check_store()
    assert unknown.seen == f"{store.label} has files of 1 runs that do not exist (999999)."
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    assert [each.severity for each in check_store()] == [Severity.ERROR]


def test_a_home_that_worked_without_sends_what_it_has_once(owner: User, store: Store) -> None:
    done, failed, *_ = runs_in_order(launched(owner))
    moved(done, RunState.DONE)
    moved(failed, RunState.FAILED)
    model = artifact_folder(done.pk, DONE) / "model.safetensors"
    checkpoint = run_folder(failed.pk) / "checkpoints" / f"round-00000010.{FAILED.hex}"
    journal = run_folder(failed.pk) / "checkpoints" / f"{DONE.hex}.journal"
    for path, text in ((model, "weights"), (checkpoint / "state.json", "{}"), (journal, "entries")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (run_folder(done.pk) / "log.txt").write_text("Attempt 1\n")
    Run.objects.filter(pk=done.pk).update(artifact=f"runs/{done.pk}/artifacts/{DONE.hex}/model.safetensors")
    for number, (token, path) in enumerate(((FAILED, checkpoint), (DONE, journal))):
        Attempt.objects.create(
            run=failed, number=number, token=token, worker="w", started=NOON, checkpoint=str(path), checkpoint_round=10
        )
    assert store_push() == PushReport(datasets=0, apps=0, files=4)
    assert store_push() == PushReport(datasets=0, apps=0, files=0)
    rmtree(run_folder(done.pk))
    done.refresh_from_db()
    assert [file.name for file in run_files(done)] == ["spec.yaml", "model.safetensors", "log.txt"]
    assert run_log(run=done.pk).text == "Attempt 1\n"
    assert store.has_bundle(f"runs/{failed.pk}/checkpoints/{checkpoint.name}")
    assert store.bundle(f"runs/{failed.pk}/checkpoints/{journal.name}").joined


def test_paths_of_earlier_versions_become_relative(lab: list[Run], tmp_path: Path) -> None:
    failed = Attempt.objects.get(run=lab[1])
    relative = failed.checkpoint
    Attempt.objects.filter(pk=failed.pk).update(checkpoint=f"{tmp_path}/home/{relative}")
    assert checkpoints_make_relative(tmp_path / "home") == 1
    assert checkpoints_make_relative(tmp_path / "home") == 0
    failed.refresh_from_db()
    assert failed.checkpoint == relative


def test_the_command_says_whether_it_answers(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = StringIO()
    call_command("store", stdout=out)
    assert out.getvalue() == f"{tmp_path}/store answers.\n"
    call_command("store", "push", stdout=out)
    assert "0 data sets, 0 versions of apps, 0 models, checkpoints and logs" in out.getvalue()
    monkeypatch.setenv("TRIBUTARY_STORE", "")
    with pytest.raises(CommandError, match=r"The store is this home"):
        call_command("store")
