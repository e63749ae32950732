"""Jobs that bring data sets: who may ask, what is refused, and how they end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from config.processes import child_environment
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from experiments.core.errors import ConflictError, NotAllowedError
from experiments.datasets.services import jobs, uploads
from experiments.datasets.services.job_processes import DatasetJobProcesses
from experiments.datasets.services.jobs import job_claim, job_fail, job_progress, job_release, job_request, jobs_reap
from experiments.datasets.services.uploads import npz_folder, npz_upload, request_dropped_files
from experiments.models import DatasetJob, JobKind, JobState, User
from tests.experiments.originals import write_mnist, write_npz
from workers.datasets import _cache
from workers.errors import SpecError
from workers.home import ROOT


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def request_import(actor: User | None, path: Path | str, dataset: str = "mnist") -> DatasetJob:
    return job_request(actor=actor, dataset=dataset, kind=JobKind.IMPORT, path=str(path))


def test_a_member_may_import_and_fetch_but_a_viewer_may_not(owner: User, viewer: User, tmp_path: Path) -> None:
    assert request_import(owner, tmp_path).state == JobState.QUEUED
    assert job_request(actor=owner, dataset="cifar10", kind=JobKind.FETCH).path == ""
    with pytest.raises(NotAllowedError, match="Ask an admin for the role member"):
        request_import(viewer, tmp_path)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "Give the folder or archive"),
        ("relative/folder", "Give the whole path"),
        ("/nowhere/at/all", "/nowhere/at/all does not exist on the server."),
        ("/" + "a" * 300, "does not exist"),
        ("/\0", "That is no path."),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_with_the_reason(owner: User, path: str, words: str) -> None:
    with pytest.raises(SpecError) as refused:
        request_import(owner, path)
    assert words in refused.value.detail
    assert [problem.path for problem in refused.value.errors] == ["path"]


def test_what_is_made_here_cannot_be_imported(owner: User, tmp_path: Path) -> None:
    for name in ("digits", "unheard-of"):
        with pytest.raises(ConflictError, match="is not imported"):
            request_import(owner, tmp_path, name)


def test_what_has_no_files_to_fetch_says_so(owner: User) -> None:
    with pytest.raises(ConflictError, match="LEAF publishes FEMNIST as a program"):
        job_request(actor=owner, dataset="femnist", kind=JobKind.FETCH)


def test_the_same_is_not_done_twice_at_once(owner: User, stranger: User, tmp_path: Path) -> None:
    request_import(owner, tmp_path)
    with pytest.raises(ConflictError, match="MNIST is being worked on already"):
        request_import(stranger, tmp_path)
    claimed = job_claim()
    assert claimed is not None
    job_fail(job=claimed.pk, reason="no")
    assert request_import(stranger, tmp_path).state == JobState.QUEUED


def test_the_oldest_goes_first_and_progress_stays_between_0_and_1(owner: User, tmp_path: Path) -> None:
    first = request_import(owner, tmp_path)
    request_import(owner, tmp_path, "svhn")
    claimed = job_claim()
    assert claimed == first
    job_progress(job=first.pk, share=1.7, text="a\0b")
    first.refresh_from_db()
    assert (first.share, first.text, first.state) == (1.0, "a\N{REPLACEMENT CHARACTER}b", JobState.RUNNING)


def test_a_released_job_waits_again_and_an_ended_one_is_left_alone(owner: User, tmp_path: Path) -> None:
    job = request_import(owner, tmp_path)
    job_claim()
    job_release(job=job.pk)
    job.refresh_from_db()
    assert job.state == JobState.QUEUED
    job_claim()
    jobs.job_finish(job=job.pk, text="all")
    job_fail(job=job.pk, reason="too late")
    job.refresh_from_db()
    assert (job.state, job.text, job.share) == (JobState.DONE, "all", 1.0)


def test_a_job_whose_process_fell_silent_is_ended(owner: User, tmp_path: Path) -> None:
    job = request_import(owner, tmp_path)
    job_claim()
    assert jobs_reap() == 0
    DatasetJob.objects.filter(pk=job.pk).update(heartbeat=Now() - timedelta(seconds=61))
    assert jobs_reap() == 1
    job.refresh_from_db()
    assert (job.state, job.text) == (JobState.FAILED, "Its process is gone. Start it again.")


def upload(actor: User, name: str = "mine.npz", size: int = 3, limit: int = 10) -> DatasetJob:
    return npz_upload(actor=actor, name=name, size=size, content=[b"a", b"bc"], limit=limit)


def test_only_an_admin_uploads(owner: User, admin: User) -> None:
    with pytest.raises(NotAllowedError):
        upload(owner)
    job = upload(admin)
    assert job.path == str(npz_folder() / "mine.npz")
    assert (npz_folder() / "mine.npz").read_bytes() == b"abc"


@pytest.mark.parametrize(
    ("name", "size", "words"),
    [
        ("data.csv", 3, "ends in .npz"),
        ("../../etc/passwd.npz", 3, ""),
        ("ÄÖ.npz", 3, "small letters"),
        ("big.npz", 11_000_000, "11 MB are more than 0 MB"),
    ],
)
def test_an_upload_that_is_not_wanted_leaves_nothing(admin: User, home: Path, name: str, size: int, words: str) -> None:
    if not words:
        assert upload(admin, name).path == str(npz_folder() / "passwd.npz")
        return
    with pytest.raises(SpecError) as refused:
        upload(admin, name, size)
    assert words in refused.value.detail
    assert not npz_folder().exists()


def test_a_file_put_into_the_folder_is_asked_for_once_until_it_changes(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_npz(npz_folder() / "mine.npz")
    assert request_dropped_files() == 0
    monkeypatch.setattr(uploads, "SETTLED_SECONDS", -100.0)
    assert (request_dropped_files(), request_dropped_files()) == (1, 0)
    job = job_claim()
    assert job is not None
    assert (job.path, job.person) == (str(path), None)
    job_fail(job=job.pk, reason="no")
    assert request_dropped_files() == 0
    os.utime(path, (time.time() + 60, time.time() + 60))
    assert request_dropped_files() == 1


def test_a_file_that_cannot_be_asked_for_is_left_and_stops_nobody(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "SETTLED_SECONDS", -100.0)
    for name in ("a", "b"):
        write_npz(npz_folder() / f"{name}.npz")
    monkeypatch.setattr(jobs, "path_problem", lambda path: "No." if path.name == "a.npz" else None)
    assert request_dropped_files() == 1
    assert Path(DatasetJob.objects.get().path).name == "b.npz"


def test_a_process_that_cannot_be_started_fails_its_job(owner: User, tmp_path: Path) -> None:
    job = request_import(owner, tmp_path)
    DatasetJobProcesses(lambda _: subprocess.Popen(["/no/such/program"])).tick()
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert job.text.startswith("No process could be started: [Errno 2]")


def start(job: DatasetJob, **extra: str) -> subprocess.Popen[bytes]:
    """As the scheduler does, against the test database."""
    url = f"{settings.DATABASE_URL.rsplit('/', 1)[0]}/{connection.settings_dict['NAME']}"
    command = [sys.executable, str(ROOT / "manage.py"), "dataset_job", str(job.pk)]
    return subprocess.Popen(command, env=child_environment(DATABASE_URL=url, **extra))


def until(work: DatasetJobProcesses, met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not met():
        assert time.monotonic() < deadline
        work.tick()
        time.sleep(0.1)


def has_ended(job: DatasetJob) -> bool:
    job.refresh_from_db()
    return not job.active


@pytest.mark.django_db(transaction=True)
def test_a_process_imports_verifies_and_tells_how_it_went(owner: User, tmp_path: Path) -> None:
    job = request_import(owner, write_mnist(tmp_path / "originals"))
    work = DatasetJobProcesses(start)
    until(work, lambda: has_ended(job))
    assert (job.state, job.text) == (JobState.DONE, "40 training and 10 test samples")
    known = _cache.manifest_of("mnist")
    assert known is not None
    damaged = _cache.folder_of("mnist") / known.entries["train_x"].file
    damaged.write_bytes(b"damaged")
    check = job_request(actor=owner, dataset="mnist", kind=JobKind.VERIFY)
    until(work, lambda: has_ended(check))
    assert check.state == JobState.FAILED
    assert "has 7 bytes instead of" in check.text
    work.stop()


@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_killed_fails_its_job(owner: User, tmp_path: Path) -> None:
    job = request_import(owner, tmp_path)
    work = DatasetJobProcesses(lambda _: subprocess.Popen(["sleep", "60"]))
    work.tick()
    os.kill(work.children[job.pk].pid, signal.SIGKILL)
    until(work, lambda: has_ended(job))
    assert job.text == "Its process ended with -9. The scheduler's log has more."


@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_asked_to_leave_gives_its_job_back(owner: User, tmp_path: Path) -> None:
    """The fetch hangs on a server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        job = job_request(actor=owner, dataset="mnist", kind=JobKind.FETCH)
        work = DatasetJobProcesses(lambda each: start(each, TRIBUTARY_MIRROR=address))
        work.tick()
        silent.settimeout(60)
        connected, _ = silent.accept()
        work.stop()
        connected.close()
    job.refresh_from_db()
    assert (job.state, job.text) == (JobState.QUEUED, "")
