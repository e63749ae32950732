"""Archives from anywhere: what is an app is unpacked, everything else is refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from flwr.cli.config_utils import get_fab_metadata

from tests.workers.apps import archives
from workers.apps.library import add_app, library_folder
from workers.apps.package import AppError

NAME = "numpy-least-squares"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    return tmp_path / "app.zip"


def refusal(path: Path) -> str:
    """Its words; and nothing of the archive is left, inside or outside of the library."""
    before = {each for each in path.parent.rglob("*") if "home" not in each.parts}
    with pytest.raises(AppError) as error:
        add_app(path)
    assert list(library_folder().iterdir()) == []
    assert {each for each in path.parent.rglob("*") if "home" not in each.parts} == before
    return str(error.value)


def test_flowers_own_bundle_is_an_app(path: Path) -> None:
    bundle = archives.write_fab(path.with_suffix(".fab"))
    assert get_fab_metadata(bundle) == ("tributary/numpy-least-squares", "1.0.0")
    package = add_app(bundle)
    assert (package.name, package.version) == (NAME, "1.0.0")
    assert not (package.folder / ".info").exists()


def test_one_folder_around_everything_is_taken_off(path: Path) -> None:
    assert add_app(archives.write_github_zip(path)).name == NAME


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "C:/x", "..\\x"])
def test_names_that_lead_outside_are_refused(path: Path, name: str) -> None:
    assert refusal(archives.write_path_traversal(path, name)).endswith("lies outside of the app's folder.")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (archives.write_symlink, "'secrets.txt' is a link or a device: only plain files are taken."),
        (archives.write_named_pipe, "is a link or a device: only plain files are taken."),
        (archives.write_duplicate_names, "Two files of the archive have the same name."),
        (archives.write_too_many_files, "an app may have 2,000."),
        (archives.write_two_apps, "There is no pyproject.toml at the top of the archive: pack the folder that has it."),
        (archives.write_no_manifest, "There is no pyproject.toml at the top of the archive"),
        (archives.write_missing_components, 'Where it is, as in "my_app.server_app:app".'),
        (archives.write_huge_manifest, "'pyproject.toml' unpacks to 292 times its size."),
        (archives.write_broken_manifest, "pyproject.toml cannot be read"),
        (archives.write_not_a_zip, "This is not a readable .zip or .fab"),
    ],
)
def test_what_is_no_app_says_why(path: Path, write: Callable[[Path], Path], message: str) -> None:
    assert message in refusal(write(path))


def test_a_file_behind_a_link_is_not_written(path: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    assert "is a link or a device" in refusal(archives.write_file_behind_symlink(path, outside))
    assert list(outside.iterdir()) == []


def test_a_bomb_is_refused_by_its_ratio_or_its_size_before_it_is_unpacked(path: Path) -> None:
    assert "times its size" in refusal(archives.write_bomb(path, megabytes=32))
    assert refusal(archives.write_bomb(path, megabytes=256)) == "Unpacked the archive is larger than 200 MB."


def test_a_bomb_that_lies_about_its_size_is_stopped_while_it_is_unpacked(path: Path) -> None:
    assert refusal(archives.write_bomb_that_lies(path)) in (
        "'zeros.bin' is larger than the archive says.",
        "This is not a readable .zip or .fab (Bad CRC-32 for file 'zeros.bin').",
    )
