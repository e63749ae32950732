"""The Data sets page: what everyone sees, and the buttons of those who may press them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from experiments.datasets.services.jobs import job_request
from experiments.housekeeping.services.jobs import job_claim, job_progress
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import Job, JobKind, JobState, User
from tests.experiments.originals import write_mnist, write_npz
from workers.catalog import load_catalog
from workers.datasets._imported import ImportedDataset


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "imports").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    folder = write_mnist(tmp_path / "mnist")
    dataset = load_catalog().datasets["mnist"]
    assert isinstance(dataset, ImportedDataset)
    dataset.import_from(folder)
    return folder


def page(client: Client, **headers: str) -> str:
    return client.get("/data-sets", headers=headers).content.decode()


def section(client: Client, name: str) -> str:
    return page(client).split(f'id="dataset-{name}"')[1].split('</details>\n<details class="dataset"')[0]


def test_it_says_of_each_set_whether_it_is_here_and_what_it_is(browsers: dict[str, Client], mnist: Path) -> None:
    here = section(browsers["viewer"], "mnist")
    assert "ready" in here
    assert "40 to train · 10 to test" in here
    assert "less than 1 % of the published set" in here
    assert "1 × 4 × 4" in here
    assert "none stated" in here
    assert 'aria-label="Training samples by class, from 4 to 4"' in here
    assert "not here yet" in section(browsers["viewer"], "svhn")


def test_its_pictures_are_shown_to_those_who_are_logged_in(browsers: dict[str, Client], mnist: Path) -> None:
    address = section(browsers["viewer"], "mnist").split('<img class="samples" src="')[1].split('"')[0]
    answer = browsers["viewer"].get(address)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")
    assert answer.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert browsers["nobody"].get(address).status_code == 302
    assert browsers["viewer"].get("/portraits/" + "0" * 64 + ".png").status_code == 404


def test_viewers_see_no_buttons_members_all_but_upload_and_admins_all(browsers: dict[str, Client]) -> None:
    buttons = {
        who: [text in page(browsers[who]) for text in ("/svhn/fetch", "/svhn/import", "/npz/upload")]
        for who in ("viewer", "owner", "admin")
    }
    assert buttons == {"viewer": [False] * 3, "owner": [True, True, False], "admin": [True] * 3}


def test_a_member_imports_a_folder(browsers: dict[str, Client], home: Path) -> None:
    folder = home / "imports"
    answer = browsers["owner"].post("/data-sets/mnist/import", {"path": str(folder)}, follow=True)
    assert "mnist: Importing starts within seconds." in answer.content.decode()
    job = Job.objects.get()
    assert (job.subject, job.kind, job.path, job.state) == ("mnist", JobKind.IMPORT, str(folder), JobState.QUEUED)
    assert str(job.person) == "owner"


@pytest.mark.parametrize(
    ("who", "address", "words"),
    [
        ("viewer", "/data-sets/mnist/fetch", "A viewer reads."),
        ("owner", "/data-sets/mnist/import", "Data are imported from below"),
        ("owner", "/data-sets/femnist/fetch", "LEAF publishes FEMNIST as a program"),
        ("owner", "/data-sets/digits/verify", "digits is not imported"),
        ("owner", "/data-sets/npz/upload", "Only an admin may do this."),
    ],
)
def test_what_is_refused_is_told_on_the_page(browsers: dict[str, Client], who: str, address: str, words: str) -> None:
    fields = {"path": "/not/there", "file": SimpleUploadedFile("mine.npz", b"abc")}
    answer = browsers[who].post(address, fields, follow=True)
    assert words in answer.content.decode()
    assert not Job.objects.exists()


def test_a_refused_import_is_told_in_its_own_details_with_what_was_typed(browsers: dict[str, Client]) -> None:
    answer = browsers["owner"].post("/data-sets/mnist/import", {"path": "/not/there"})
    assert answer.status_code == 422
    mnist = answer.content.decode().split('id="dataset-mnist"')[1].split('<details class="dataset"')[0]
    assert mnist.startswith(" open>")
    assert '<div class="note error" role="alert"><p>Data are imported from below' in mnist
    assert 'value="/not/there"' in mnist


def test_ready_ones_come_first(browsers: dict[str, Client], mnist: Path) -> None:
    said = page(browsers["viewer"])
    states = [part.partition("</summary>")[0].count("chip done") for part in said.split('<details class="dataset"')[1:]]
    assert states == sorted(states, reverse=True)
    assert states[0] == 1


def test_an_unknown_action_is_not_there(as_owner: Client) -> None:
    assert as_owner.post("/data-sets/mnist/eat").status_code == 404
    assert as_owner.get("/data-sets/mnist/fetch").status_code == 405


def test_an_admin_uploads_a_file_up_to_the_limit(browsers: dict[str, Client], settings: Settings, home: Path) -> None:
    settings.MAX_UPLOAD = 4
    small, large = SimpleUploadedFile("mine.npz", b"abcd"), SimpleUploadedFile("large.npz", b"abcde")
    browsers["admin"].post("/data-sets/npz/upload", {"file": small})
    assert (home / "datasets" / "npz" / "mine.npz").read_bytes() == b"abcd"
    refused = browsers["admin"].post("/data-sets/npz/upload", {"file": large}, follow=True).content.decode()
    assert "0 MB are more than 0 MB." in refused
    none = browsers["admin"].post("/data-sets/npz/upload", follow=True).content.decode()
    assert "Choose a file that ends in .npz." in none


def test_progress_is_shown_and_the_page_asks_again(browsers: dict[str, Client], owner: User, home: Path) -> None:
    assert "data-busy" not in page(browsers["viewer"])
    job = job_request(actor=owner, dataset="mnist", kind=JobKind.IMPORT, path=str(home / "imports"))
    assert job_claim() == job
    job.attempt = 1
    job_progress(job=job, share=0.42, text="train-images")
    part = page(browsers["viewer"], **{"HX-Request": "true"})
    assert "Import: 42 % · train-images" in part
    assert 'value="42"' in part
    assert "data-busy" in part
    assert "<html" not in part
    assert "/mnist/fetch" not in page(browsers["owner"])


def test_own_files_are_listed_one_by_one(browsers: dict[str, Client], tmp_path: Path) -> None:
    assert "None yet." in section(browsers["owner"], "npz")
    npz = load_catalog().datasets["npz"]
    assert isinstance(npz, ImportedDataset)
    for name in ("first", "second"):
        npz.import_from(write_npz(tmp_path / f"{name}.npz"))
    listed = section(browsers["owner"], "npz")
    assert [f"npz {name}" in listed for name in ("first", "second")] == [True, True]


def test_what_takes_a_moment_is_asked_for_after_the_page_is_drawn(
    browsers: dict[str, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(load_catalog().datasets["digits"]), "loads_at_once", lambda *_: False)
    assert 'hx-get="/data-sets/digits/look?title=digits"' in section(browsers["viewer"], "digits")
    look = browsers["viewer"].get("/data-sets/digits/look?title=digits").content.decode()
    assert 'hx-trigger="load delay:2s"' in look
    assert jobs_carry_out() == 1
    look = browsers["viewer"].get("/data-sets/digits/look?title=digits").content.decode()
    assert "Training samples by class, from 133 to 154" in look
    assert "hx-get" not in section(browsers["viewer"], "digits")
    assert browsers["viewer"].get("/data-sets/unheard-of/look").status_code == 404
