"""manage.py datasets, without a database."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.experiments.originals import write_mnist
from workers.datasets import _cache
from workers.errors import DatasetError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))


def run_command(*arguments: object) -> str:
    out = StringIO()
    call_command("datasets", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_it_lists_what_there_is(tmp_path: Path) -> None:
    run_command("import", "mnist", write_mnist(tmp_path / "mnist"))
    lines = {line.split()[0]: line for line in run_command().splitlines()}
    assert "ready" in lines["mnist"]
    assert "40 +      10" in lines["mnist"]
    assert "not here" in lines["svhn"]


def test_it_imports_with_progress_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_mnist(tmp_path / "mnist")
    assert run_command("import", "mnist", folder) == "mnist: 40 training and 10 test samples are here.\n"
    progress = [line.split()[0] for line in capsys.readouterr().err.splitlines()]
    assert progress == ["0%", "22%", "45%", "68%", "90%", "100%"]
    assert run_command("verify", "mnist") == "mnist: as written.\n"
    assert run_command("verify") == "mnist: as written.\n"


def test_a_damaged_cache_is_told(tmp_path: Path) -> None:
    run_command("import", "mnist", write_mnist(tmp_path / "mnist"))
    known = _cache.manifest_of("mnist")
    assert known is not None
    (_cache.folder_of("mnist") / known.entries["train_y"].file).unlink()
    with pytest.raises(DatasetError, match=r"train_y.* is missing\."):
        run_command("verify")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fetch"], "Which one"),
        (["import", "mnist"], "From where"),
        (["fetch", "unheard-of"], "No data set unheard-of. There are blobs"),
        (["verify", "digits"], "digits is made here"),
        (["eat"], "invalid choice"),
    ],
)
def test_what_is_missing_is_said(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        run_command(*arguments)


def test_errors_of_the_importer_are_told() -> None:
    with pytest.raises(DatasetError, match="/nowhere does not exist"):
        run_command("import", "mnist", "/nowhere")
    with pytest.raises(DatasetError, match="MNIST is not here yet"):
        run_command("verify", "mnist")
