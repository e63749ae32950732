"""What a folder's pyproject.toml must say to be an app, and what makes two apps the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.apps.driver import example
from workers.apps.package import AppError, content_hash, read_package
from workers.errors import Problem

MANIFEST = """
[project]
name = "mine"
version = "1.2"
description = "An app"
dependencies = ["numpy>=1"]

[tool.flwr.app]
publisher = "lab"

[tool.flwr.app.components]
serverapp = "mine.server_app:app"
clientapp = "mine.client_app:app"

[tool.flwr.app.config]
num-server-rounds = 3
name = "adam"
verbose = false

[tool.flwr.app.config.optimizer]
lr = 0.1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    app = tmp_path / "app"
    (app / "mine").mkdir(parents=True)
    (app / "pyproject.toml").write_text(MANIFEST)
    (app / "mine" / "server_app.py").write_text("app = 1\n")
    return app


def test_a_manifest_is_read_with_its_nested_config_flat(folder: Path) -> None:
    package = read_package(folder)
    assert (package.name, package.version, package.publisher, package.description) == ("mine", "1.2", "lab", "An app")
    assert (package.serverapp, package.clientapp) == ("mine.server_app:app", "mine.client_app:app")
    assert package.config == {"num-server-rounds": 3, "name": "adam", "verbose": False, "optimizer.lr": 0.1}
    assert package.dependencies == ("numpy>=1",)
    assert not package.takes_seed
    assert example("numpy-least-squares").takes_seed


def test_every_problem_of_a_manifest_is_told_at_its_place(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "../up"\n[tool.flwr.app.components]\nserverapp = "no colon"\n'
        "[tool.flwr.app.config]\nlayers = [1, 2]\nrate = inf\n"
    )
    with pytest.raises(AppError) as refusal:
        read_package(folder)
    assert refusal.value.errors == (
        Problem("project.name", "A name of letters, digits, dots, dashes and underscores, at most 100."),
        Problem("project.version", "The app's version is missing."),
        Problem("tool.flwr.app.components.serverapp", 'Where it is, as in "my_app.server_app:app".'),
        Problem("tool.flwr.app.components.clientapp", 'Where it is, as in "my_app.server_app:app".'),
        Problem(
            "tool.flwr.app.config.layers",
            "A number, text, true or false, or a table of those: Flower takes nothing else.",
        ),
        Problem("tool.flwr.app.config.rate", "A finite number."),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[project", "pyproject.toml cannot be read: "),
        ("a = " + "[" * 5_000, "pyproject.toml cannot be read: "),
        ("#" * 2_000_000, "pyproject.toml is larger than 1,000 kB."),
        (None, "There is no pyproject.toml in app: a Flower app has one at its top."),
    ],
)
def test_what_is_no_manifest_is_refused(folder: Path, text: str | None, message: str) -> None:
    (folder / "pyproject.toml").unlink()
    if text is not None:
        (folder / "pyproject.toml").write_text(text)
    with pytest.raises(AppError) as refusal:
        read_package(folder)
    assert str(refusal.value).startswith(message)


def test_the_hash_follows_names_and_bytes_and_nothing_that_python_leaves_behind(folder: Path) -> None:
    before = content_hash(folder)
    (folder / "mine" / "__pycache__").mkdir()
    (folder / "mine" / "__pycache__" / "server_app.cpython-311.pyc").write_bytes(b"x")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("x")
    assert content_hash(folder) == before
    (folder / "mine" / "server_app.py").write_text("app = 2\n")
    changed = content_hash(folder)
    assert changed != before
    (folder / "mine" / "server_app.py").rename(folder / "mine" / "server.py")
    assert content_hash(folder) not in (before, changed)


def test_links_are_refused(folder: Path) -> None:
    (folder / "data").symlink_to("/etc")
    with pytest.raises(AppError, match=r"data is a link: put the file itself there\."):
        read_package(folder)


def test_too_many_files_are_refused(folder: Path) -> None:
    for number in range(2_000):
        (folder / f"{number}.txt").touch()
    with pytest.raises(AppError, match="An app may have 2,000 files and 200 MB"):
        read_package(folder)
