"""Apps over REST, on their page and by command: added, checked, listed and removed; archives that are refused."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from experiments.flower_apps.selectors import app_rows, busy_file, find_row
from experiments.flower_apps.services import app_add, app_check_once, environment_make
from experiments.models import AuditEntry, Study, User
from experiments.operations.backup.backup import app_version_files
from tests.experiments import lab
from tests.experiments.conftest import EXAMPLES
from tests.live import eventually
from tests.workers.apps.archives import app_files, write_path_traversal, write_zip
from tests.workers.apps.wheels import write_wheel
from workers.apps.environments import install_log
from workers.apps.library import find_app
from workers.apps.package import AppError, AppPackage

NAME = "numpy-least-squares"


@pytest.fixture
def no_folders(apps: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library without anything in it."""
    monkeypatch.delenv("TRIBUTARY_APPS")
    return apps


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    return write_zip(tmp_path / "app.zip").read_bytes()


def upload(client: Client, content: bytes, name: str = "app.zip", address: str = "/api/v1/apps") -> Any:
    return client.post(address, {"file": SimpleUploadedFile(name, content)})


def command(*words: str) -> str:
    output = io.StringIO()
    call_command("apps", *words, stdout=output)
    return output.getvalue()


def test_an_admin_adds_an_app_over_rest(no_folders: Path, browsers: dict[str, Client], archive: bytes) -> None:
    answer = upload(browsers["admin"], archive)
    assert answer.status_code == 201, answer.content
    app = answer.json()
    assert (app["name"], app["version"], app["publisher"], app["origin"]) == (NAME, "1.0.0", "tributary", "added")
    assert app["config"] == [
        {"key": "num-server-rounds", "type": "integer", "default": 3},
        {"key": "learning-rate", "type": "number", "default": 0.1},
        {"key": "local-steps", "type": "integer", "default": 5},
        {"key": "num-examples", "type": "integer", "default": 40},
        {"key": "seed", "type": "integer", "default": 0},
    ]
    assert app["check"]["ok"] is True
    assert app["check"]["interpreter"] == "Tributary's own"
    assert [version["current"] for version in app["versions"]] == [True]
    listed = browsers["viewer"].get("/api/v1/apps").json()
    assert (listed["count"], listed["next"], [each["name"] for each in listed["items"]]) == (1, None, [NAME])
    entry = AuditEntry.objects.get(action="app.add")
    assert (entry.actor_name, entry.subject, entry.detail["version"]) == ("boss", f"app {NAME}", "1.0.0")


def test_an_upload_makes_a_new_version_and_keeps_the_old_one(
    no_folders: Path, browsers: dict[str, Client], archive: bytes, tmp_path: Path
) -> None:
    upload(browsers["admin"], archive)
    files = app_files()
    files["pyproject.toml"] = files["pyproject.toml"].replace(b'"1.0.0"', b'"1.1.0"')
    answer = upload(browsers["admin"], write_zip(tmp_path / "newer.zip", files).read_bytes()).json()
    versions = {version["version"]: version["current"] for version in answer["versions"]}
    assert versions == {"1.1.0": True, "1.0.0": False}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("app.tar", b"x", "Choose a .zip or .fab of the app's folder."),
        ("app.zip", b"no archive", "This is not a readable .zip or .fab (File is not a zip file)."),
    ],
)
def test_what_is_no_archive_is_refused(
    no_folders: Path, browsers: dict[str, Client], name: str, content: bytes, message: str
) -> None:
    answer = upload(browsers["admin"], content, name)
    assert answer.status_code == 422
    assert answer.json() == {"detail": "The app was not added.", "errors": [{"path": "file", "message": message}]}
    assert app_rows() == []


def test_a_hostile_archive_is_refused_on_the_page_beside_the_form(
    no_folders: Path, browsers: dict[str, Client], tmp_path: Path
) -> None:
    content = write_path_traversal(tmp_path / "app.zip").read_bytes()
    answer = upload(browsers["admin"], content, address="/apps/upload")
    assert answer.status_code == 422
    assert "&#x27;../x&#x27; lies outside of the app&#x27;s folder." in answer.content.decode()
    assert not AuditEntry.objects.filter(action="app.add").exists()


def test_every_problem_of_a_manifest_is_told(no_folders: Path, browsers: dict[str, Client], tmp_path: Path) -> None:
    files = app_files() | {"pyproject.toml": b'[project]\nname = "a b"\n'}
    answer = upload(browsers["admin"], write_zip(tmp_path / "app.zip", files).read_bytes())
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["errors"]] == [
        "project.name",
        "project.version",
        "tool.flwr.app.components.clientapp",
        "tool.flwr.app.components.serverapp",
    ]


def test_uploads_can_be_switched_off(
    no_folders: Path, browsers: dict[str, Client], archive: bytes, settings: Settings
) -> None:
    settings.APP_UPLOADS = False
    answer = upload(browsers["admin"], archive)
    assert (answer.status_code, answer.json()["detail"]) == (
        403,
        "Uploads of apps are switched off here (TRIBUTARY_APP_UPLOADS). On the server: manage.py apps add PATH.",
    )
    page = browsers["admin"].get("/apps").content.decode()
    assert 'type="file"' not in page
    assert "switched off" in page


def test_an_upload_larger_than_the_limit_is_refused(
    no_folders: Path, browsers: dict[str, Client], archive: bytes, settings: Settings
) -> None:
    settings.MAX_UPLOAD = 100
    assert "MB are more than" in upload(browsers["admin"], archive).json()["errors"][0]["message"]


def test_an_app_of_a_folder_goes_before_an_upload_of_its_name(
    apps: Path, browsers: dict[str, Client], archive: bytes
) -> None:
    answer = upload(browsers["admin"], archive)
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        f"{NAME} comes from a folder of TRIBUTARY_APPS, which goes first: change it there.",
    )
    assert find_row(NAME).app.origin == "folder"


def test_a_removed_app_can_be_taken_by_no_new_study_and_its_runs_keep_it(
    no_folders: Path, browsers: dict[str, Client], archive: bytes, owner: User
) -> None:
    upload(browsers["admin"], archive)
    run = lab.runs_in_order(lab.launched_app(owner))[0]
    assert browsers["admin"].delete(f"/api/v1/apps/{NAME}").status_code == 204
    assert browsers["admin"].get("/api/v1/apps").json()["items"] == []
    assert (no_folders / NAME / run.launch_sources["versions"]["app"] / "pyproject.toml").is_file()
    assert browsers["admin"].delete(f"/api/v1/apps/{NAME}").status_code == 404
    assert AuditEntry.objects.get(action="app.remove").subject == f"app {NAME}"


def test_the_page_tells_what_an_app_offers_and_who_uses_it(app_study: Study, browsers: dict[str, Client]) -> None:
    page = browsers["owner"].get("/apps").content.decode()
    assert f'href="/studies/new?app={NAME}"' in page
    assert f'href="/studies/{app_study.pk}">Learning rates</a>' in page
    assert "<code>optimizer.lr</code>" in page
    assert "Versions kept" in page
    assert "/apps/upload" not in page


def test_an_app_that_cannot_be_read_is_shown_with_its_reason(
    no_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browsers: dict[str, Client]
) -> None:
    folder = tmp_path / "apps" / "broken"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[project")
    monkeypatch.setenv("TRIBUTARY_APPS", str(folder.parent))
    page = browsers["viewer"].get("/apps").content.decode()
    assert "cannot be read" in page
    assert "pyproject.toml cannot be read" in page


def test_without_apps_the_page_says_how_to_get_some(no_folders: Path, browsers: dict[str, Client]) -> None:
    page = browsers["viewer"].get("/apps").content.decode()
    assert "No apps yet" in page
    assert "manage.py apps add PATH" in page
    assert "TRIBUTARY_APPS" in page


def test_whether_it_can_be_imported_is_found_out_once_and_kept(apps: Path, browsers: dict[str, Client]) -> None:
    assert "being tried" in browsers["viewer"].get("/apps").content.decode()
    assert "can be imported" in browsers["viewer"].get(f"/apps/{NAME}/state").content.decode()
    kept = apps / NAME / f"{find_app(NAME).hash}.check.json"
    assert json.loads(kept.read_text())["ok"] is True
    kept.write_text(json.dumps({"ok": False, "problem": "As it was kept."}))
    assert "As it was kept." in browsers["viewer"].get(f"/apps/{NAME}/state").content.decode()


def test_an_app_that_raises_on_import_says_why(no_folders: Path, db: None, tmp_path: Path) -> None:
    files = app_files()
    files["numpy_least_squares/client_app.py"] = b"raise RuntimeError('no data here')\n"
    package = app_add(actor=None, source=write_zip(tmp_path / "app.zip", files))
    check = app_check_once(package=package)
    assert check is not None
    assert (check.ok, "no data here" in check.problem) == (False, True)


def test_the_command_adds_lists_checks_and_removes(no_folders: Path, db: None) -> None:
    assert command("list").startswith("None yet.")
    added = command("add", str(EXAMPLES / NAME)).splitlines()
    assert added[0] == f"{NAME} 1.0.0 ({find_app(NAME).hash[:12]}) is here: new studies take it."
    assert added[1].startswith(f"{NAME} can be imported by Tributary's own, Python 3.")
    assert "can be imported" in command("list")
    assert "can be imported" in command("check", NAME)
    assert "is removed" in command("remove", NAME)
    assert app_rows() == []


def test_the_command_asks_which_one(apps: Path, db: None) -> None:
    with pytest.raises(CommandError, match=r"Which one\? manage.py apps add PATH"):
        command("add")
    with pytest.raises(CommandError, match="There is no"):
        command("add", "/nowhere/at/all")


def test_a_backup_has_every_version_whole(no_folders: Path, db: None, tmp_path: Path) -> None:
    files = {**app_files(), ".gitignore": b"data/\n"}
    package = app_add(actor=None, source=write_zip(tmp_path / "app.zip", files))
    (no_folders / NAME / "env-0123").mkdir()
    (no_folders / NAME / "env-0123" / "python").write_text("made again")
    names = {str(path.relative_to(no_folders / NAME)) for path in app_version_files()}
    assert {"current", f"{package.hash}/.gitignore", f"{package.hash}/pyproject.toml"} <= names
    assert not any(name.startswith("env-") for name in names)


@pytest.fixture
def demanding(no_folders: Path, db: None, tmp_path: Path) -> AppPackage:
    """An app that asks for a package which is not here."""
    files = app_files()
    files["pyproject.toml"] = files["pyproject.toml"].replace(b'"numpy>=1.26.0"', b'"numpy>=1.26.0", "not-here>=3"')
    package = app_add(actor=None, source=write_zip(tmp_path / "app.zip", files))
    app_check_once(package=package)
    return package


def test_what_is_missing_is_told_and_installed_only_where_that_is_allowed(
    demanding: AppPackage, browsers: dict[str, Client], settings: Settings
) -> None:
    page = browsers["admin"].get("/apps").content.decode()
    assert "not met here: not-here&gt;=3" in page
    assert "Install what is missing" not in page
    answer = browsers["admin"].post(f"/apps/{NAME}/install", follow=True)
    assert "switched off here: start Tributary with TRIBUTARY_APP_INSTALL=1" in answer.content.decode()
    settings.APP_INSTALL = True
    assert "Install what is missing" in browsers["admin"].get("/apps").content.decode()
    assert "Install what is missing" not in browsers["owner"].get("/apps").content.decode()
    assert not AuditEntry.objects.filter(action="app.install").exists()


def test_the_log_of_an_installation_is_on_the_page_while_it_grows(
    demanding: AppPackage, browsers: dict[str, Client]
) -> None:
    install_log(demanding).write_text("Collecting not-here\n")
    busy_file(demanding).write_text(str(os.getpid()))
    part = browsers["viewer"].get(f"/apps/{NAME}/state").content.decode()
    assert "being installed" in part
    assert "Collecting not-here" in part
    busy_file(demanding).write_text("999999999")
    part = browsers["viewer"].get(f"/apps/{NAME}/state").content.decode()
    assert "being installed" not in part
    assert "Collecting not-here" in part


def test_what_is_missing_is_installed_from_the_page(
    demanding: AppPackage,
    browsers: dict[str, Client],
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.APP_INSTALL = True
    (tmp_path / "wheels").mkdir()
    write_wheel(tmp_path / "wheels", "not_here", "3", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    answer = browsers["admin"].post(f"/apps/{NAME}/install", follow=True)
    assert "what it asks for is being installed" in answer.content.decode()
    eventually(lambda: "an environment of the app" in browsers["viewer"].get(f"/apps/{NAME}/state").content.decode())
    assert "Successfully installed not" in install_log(demanding).read_text()
    assert AuditEntry.objects.get(action="app.install").detail["missing"] == ["not-here>=3"]


def test_an_installation_that_fails_says_so_and_leaves_nothing(
    demanding: AppPackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(AppError, match=f"What {NAME} needs could not be installed"):
        environment_make(package=demanding)
    assert not busy_file(demanding).exists()
    assert "not-here" in install_log(demanding).read_text()
