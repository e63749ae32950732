"""Jobs that bring data sets: who may ask, what is refused, and how they end."""

from __future__ import annotations

import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from pytest_django import Settings

from experiments.core.errors import ConflictError, NotAllowedError
from experiments.datasets.services import jobs, uploads
from experiments.datasets.services.jobs import job_request, npz_folder
from experiments.datasets.services.uploads import npz_upload, request_dropped_files
from experiments.housekeeping import tasks
from experiments.housekeeping.services.jobs import job_claim, job_fail
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import AuditEntry, Job, JobKind, JobState, User
from tests.experiments.originals import write_mnist, write_npz
from workers.catalog import load_catalog
from workers.datasets import _cache
from workers.datasets._imported import ImportedDataset
from workers.errors import SpecError


def load_imported(name: str) -> ImportedDataset:
    dataset = load_catalog().datasets[name]
    assert isinstance(dataset, ImportedDataset)
    return dataset


@pytest.fixture
def imports(home: Path) -> Path:
    """The folder below which people may import."""
    folder = home / "imports"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def request_import(actor: User | None, path: Path | str, dataset: str = "mnist") -> Job:
    return job_request(actor=actor, dataset=dataset, kind=JobKind.IMPORT, path=str(path))


def test_a_member_may_import_and_fetch_but_a_viewer_may_not(owner: User, viewer: User, imports: Path) -> None:
    assert request_import(owner, imports).state == JobState.QUEUED
    assert job_request(actor=owner, dataset="cifar10", kind=JobKind.FETCH).path == ""
    with pytest.raises(NotAllowedError, match="Ask an admin for the role member"):
        request_import(viewer, imports)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "Give the folder or archive"),
        ("relative/folder", "Give the whole path"),
        ("/nowhere/at/all", "Data are imported from below"),
        ("/etc/passwd", "Data are imported from below"),
        ("{imports}/../secrets/secret-key", "Data are imported from below"),
        ("{imports}/nothing", "/imports/nothing does not exist on the server."),
        ("{imports}/" + "a" * 300, "does not exist"),
        ("/\0", "That is no path."),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_with_the_reason(
    owner: User, imports: Path, path: str, words: str
) -> None:
    with pytest.raises(SpecError) as refused:
        request_import(owner, path.replace("{imports}", str(imports)))
    assert words in refused.value.detail
    assert [problem.path for problem in refused.value.errors] == ["path"]


def test_what_is_made_here_cannot_be_imported(owner: User, tmp_path: Path) -> None:
    for name in ("digits", "unheard-of"):
        with pytest.raises(ConflictError, match="is not imported"):
            request_import(owner, tmp_path, name)


def test_what_has_no_files_to_fetch_says_so(owner: User) -> None:
    with pytest.raises(ConflictError, match="LEAF publishes FEMNIST as a program"):
        job_request(actor=owner, dataset="femnist", kind=JobKind.FETCH)


def test_the_same_is_not_done_twice_at_once(owner: User, stranger: User, imports: Path) -> None:
    request_import(owner, imports)
    with pytest.raises(ConflictError, match="MNIST is being worked on already"):
        request_import(stranger, imports)
    claimed = job_claim()
    assert claimed is not None
    job_fail(job=claimed, reason="no")
    assert request_import(stranger, imports).state == JobState.QUEUED


def test_what_is_here_is_replaced_by_an_admin_who_says_so_and_by_nobody_else(
    owner: User, admin: User, imports: Path
) -> None:
    load_imported("mnist").import_from(write_mnist(imports / "mnist"))
    with pytest.raises(ConflictError, match=r"MNIST is here already\. An admin may replace it"):
        request_import(owner, imports)
    with pytest.raises(ConflictError, match="MNIST is here already"):
        job_request(actor=admin, dataset="mnist", kind=JobKind.FETCH)
    with pytest.raises(NotAllowedError, match="Only an admin may replace MNIST"):
        job_request(actor=owner, dataset="mnist", kind=JobKind.FETCH, replace=True)
    assert not Job.objects.exists()
    job = job_request(actor=admin, dataset="mnist", kind=JobKind.IMPORT, path=str(imports), replace=True)
    assert job.request == {"replace": True}
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject, entry.actor_name) == ("dataset.import", "data set mnist", "boss")
    assert entry.detail == {"path": str(imports), "replace": True}


def upload(actor: User, name: str = "mine.npz", size: int = 3, limit: int = 10, replace: bool = False) -> Job:
    return npz_upload(actor=actor, name=name, size=size, content=[b"a", b"bc"], limit=limit, replace=replace)


def test_only_an_admin_uploads(owner: User, admin: User) -> None:
    with pytest.raises(NotAllowedError):
        upload(owner)
    job = upload(admin)
    assert job.path == str(npz_folder() / "mine.npz")
    assert (npz_folder() / "mine.npz").read_bytes() == b"abc"


def test_an_upload_takes_no_name_that_is_in_use_unless_it_says_so(admin: User, tmp_path: Path) -> None:
    load_imported("npz").import_from(write_npz(tmp_path / "mine.npz"))
    with pytest.raises(SpecError, match=r"There is a mine\.npz already"):
        upload(admin, "Mine.npz")
    assert not npz_folder().exists()
    assert upload(admin, replace=True).request == {"replace": True}


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
    job_fail(job=job, reason="no")
    assert request_dropped_files() == 0
    os.utime(path, (time.time() + 60, time.time() + 60))
    assert request_dropped_files() == 1


def test_a_file_that_cannot_be_asked_for_is_left_and_stops_nobody(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "SETTLED_SECONDS", -100.0)
    for name in ("a", "b"):
        write_npz(npz_folder() / f"{name}.npz")
    monkeypatch.setattr(jobs, "path_problem", lambda path: "No." if path.name == "a.npz" else None)
    assert request_dropped_files() == 1
    assert Path(Job.objects.get().path).name == "b.npz"


def carried_out(job: Job) -> tuple[str, str]:
    assert jobs_carry_out() == 1
    job.refresh_from_db()
    return job.state, job.text


def test_a_process_imports_verifies_and_tells_how_it_went(owner: User, imports: Path) -> None:
    job = request_import(owner, write_mnist(imports / "originals"))
    assert carried_out(job) == (JobState.DONE, "40 training and 10 test samples")
    known = _cache.manifest_of("mnist")
    assert known is not None
    damaged = _cache.folder_of("mnist") / known.entries["train_x"].file
    damaged.write_bytes(b"damaged")
    state, text = carried_out(job_request(actor=owner, dataset="mnist", kind=JobKind.VERIFY))
    assert state == JobState.FAILED
    assert "has 7 bytes instead of" in text


def test_no_link_leads_out_of_the_folders(owner: User, imports: Path, tmp_path: Path) -> None:
    secret = write_npz(tmp_path / "elsewhere" / "secret.npz")
    (imports / "mine").mkdir()
    (imports / "mine" / "taken.npz").symlink_to(secret)
    (imports / "way-out").symlink_to(secret.parent)
    with pytest.raises(SpecError, match="Data are imported from below"):
        request_import(owner, imports / "way-out" / "secret.npz", "npz")
    with pytest.raises(SpecError, match="Data are imported from below"):
        request_import(owner, imports / "mine" / "taken.npz", "npz")
    state, text = carried_out(request_import(owner, imports / "mine", "npz"))
    assert (state, "leads out of the folders that may be imported from" in text) == (JobState.FAILED, True)
    assert _cache.manifest_of("npz-taken") is None


def test_a_link_that_stays_inside_is_followed(owner: User, imports: Path) -> None:
    (imports / "second.npz").symlink_to(write_npz(imports / "first.npz"))
    job = request_import(owner, imports / "second.npz", "npz")
    assert carried_out(job)[0] == JobState.DONE
    assert _cache.manifest_of("npz-second") is not None


def test_the_servers_own_folders_are_imported_from_too(owner: User, tmp_path: Path, settings: Settings) -> None:
    shared = tmp_path / "shared"
    path = write_npz(shared / "first.npz")
    with pytest.raises(SpecError, match="TRIBUTARY_IMPORT_FOLDERS"):
        request_import(owner, path, "npz")
    settings.IMPORT_FOLDERS = [shared]
    assert request_import(owner, path, "npz").path == str(path)


def test_an_own_file_of_a_name_that_is_in_use_stays_out(owner: User, imports: Path, tmp_path: Path) -> None:
    load_imported("npz").import_from(write_npz(tmp_path / "mine.npz"))
    before = _cache.manifest_of("npz-mine")
    state, text = carried_out(request_import(owner, write_npz(imports / "mine.npz"), "npz"))
    assert (state, text) == (JobState.FAILED, "npz-mine is here already, and stays as it is: an admin may replace it.")
    assert _cache.manifest_of("npz-mine") == before


def test_a_process_that_is_asked_to_leave_gives_its_job_back(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fetch hangs on a server that never answers."""
    stop = Event()
    monkeypatch.setattr(tasks, "stopping", stop)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("TRIBUTARY_MIRROR", f"http://127.0.0.1:{silent.getsockname()[1]}")
        silent.settimeout(60)
        job = job_request(actor=owner, dataset="mnist", kind=JobKind.FETCH)

        def stop_once_connected() -> None:
            with suppress(OSError):
                silent.accept()[0].close()
            stop.set()

        thread = Thread(target=stop_once_connected)
        thread.start()
        tasks.jobs_carry_out()
        thread.join()
    job.refresh_from_db()
    assert (job.state, job.attempt, job.text) == (JobState.QUEUED, 0, "")


def test_a_process_that_dies_fails_its_job_with_its_last_words(
    owner: User, imports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert carried_out(request_import(owner, imports)) == (
        JobState.FAILED,
        "Its process ended with 1: no reason given",
    )
