"""Apps of folders and added ones, and versions that stay as they were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.workers.apps import archives
from tests.workers.apps.driver import example
from workers.apps.library import add_app, find_app, find_version, keep_version, list_apps, remove_app, version_folder
from workers.apps.package import AppError, read_package

NAME = "numpy-least-squares"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRIBUTARY_APPS", raising=False)
    return tmp_path / "home"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of an app that a test may change."""
    package = example(NAME)
    copy = tmp_path / "own"
    for path in package.folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            target = copy / path.relative_to(package.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return copy


def test_a_lab_without_apps_has_none_and_says_how_to_add_one() -> None:
    assert list_apps() == []
    with pytest.raises(
        AppError, match=r"There is no app mine\. Known: none yet: `manage\.py apps add PATH` adds one\."
    ):
        find_app("mine")


def test_folders_are_apps_or_have_apps_in_them(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_APPS", os.pathsep.join([str(own), str(example("client-state").folder.parent)]))
    names = [app.name for app in list_apps()]
    assert names == sorted(path.name for path in example("client-state").folder.parent.iterdir())
    assert find_app(NAME).folder == own


def test_a_folder_that_cannot_be_read_is_listed_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "pyproject.toml").write_text("[project")
    monkeypatch.setenv("TRIBUTARY_APPS", os.pathsep.join([str(tmp_path / "broken"), str(tmp_path / "absent")]))
    assert [(app.name, app.package) for app in list_apps()] == [("absent", None), ("broken", None)]
    assert list_apps()[1].problem.startswith("pyproject.toml cannot be read")
    with pytest.raises(AppError, match="The app broken cannot be used"):
        find_app("broken")


def test_an_added_app_is_kept_by_its_hash_and_an_upload_makes_a_new_version(own: Path) -> None:
    first = add_app(own)
    assert first.folder == version_folder(NAME, first.hash)
    assert find_app(NAME).hash == first.hash
    (own / "README.md").write_text("changed")
    second = add_app(own)
    assert second.hash != first.hash
    assert find_app(NAME).hash == second.hash
    assert find_version(NAME, first.hash).hash == first.hash


@pytest.mark.parametrize("suffix", [".zip", ".fab"])
def test_an_archive_is_added_as_its_folder_is(own: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"app{suffix}"
    archives.write_zip(
        path, {str(each.relative_to(own)): each.read_bytes() for each in own.rglob("*") if each.is_file()}
    )
    assert add_app(path).hash == read_package(own).hash


def test_a_refused_archive_leaves_nothing(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "bad.zip"
    archives.write_path_traversal(path)
    with pytest.raises(AppError):
        add_app(path)
    assert list((home / "apps").iterdir()) == []
    with pytest.raises(AppError, match=r"notes\.txt is neither a folder nor a \.zip or \.fab\."):
        add_app(tmp_path / "notes.txt")


def test_a_removed_app_is_gone_for_new_studies_and_stays_for_its_runs(own: Path) -> None:
    package = add_app(own)
    remove_app(NAME)
    assert list_apps() == []
    assert find_version(NAME, package.hash).hash == package.hash
    with pytest.raises(AppError, match="There is no added app"):
        remove_app(NAME)
    with pytest.raises(AppError, match="There is no added app"):
        remove_app("../secrets")


def test_a_version_that_was_changed_or_is_gone_is_refused(own: Path) -> None:
    package = keep_version(read_package(own))
    (package.folder / "README.md").write_text("changed")
    with pytest.raises(AppError, match="were changed after its launch: relaunch"):
        find_version(NAME, package.hash)
    with pytest.raises(AppError, match="is not in this TRIBUTARY_HOME any more: relaunch"):
        find_version(NAME, "0" * 64)


def test_a_version_of_a_folder_stays_as_it_was_when_the_folder_changes(own: Path) -> None:
    kept = keep_version(read_package(own))
    (own / "README.md").write_text("changed")
    assert find_version(NAME, kept.hash).hash == kept.hash != read_package(own).hash
