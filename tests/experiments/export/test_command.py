import json
from io import StringIO
from pathlib import Path

import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command

from experiments.models import Study, User
from tests.experiments.lab import launched, record, runs_in_order


@pytest.fixture
def study(owner: User) -> Study:
    study = launched(owner, "Kept", strategy={"name": "fedavg"}, seeds=[7])
    record(runs_in_order(study)[0], {"accuracy": [0.25, 0.5], "loss": [2.0, 1.0]})
    return study


def run_export(*arguments: object) -> str:
    out = StringIO()
    call_command("export", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_a_study_is_written_as_csv(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "kept.csv"
    assert run_export(study.pk, path) == f"Wrote the metrics of study {study.pk} to {path}: 0.0 MB.\n"
    header, first, *_ = path.read_text().splitlines()
    assert header == '"run","study","cell","seed","round","metric","value"'
    assert first.endswith(',7,0,"accuracy",0.25')
    assert list(tmp_path.iterdir()) == [path]


def test_a_study_may_be_named_and_narrowed(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "kept.parquet"
    run_export("Kept", path, "--to", "parquet", "--metric", "loss")
    table = pyarrow.parquet.read_table(path)
    assert table.column("value").to_pylist() == [2.0, 1.0]


def test_other_tables_are_written_too(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "summaries.json"
    run_export(study.pk, path, "--to", "json", "--table", "summaries", "--metric", "accuracy")
    assert [(row["round"], row["mean"], row["n"]) for row in json.loads(path.read_text())] == [
        (0, 0.25, 1),
        (1, 0.5, 1),
    ]


def test_standard_output_takes_the_bytes(study: Study, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    run_export(study.pk, "-", "--to", "ndjson", "--metric", "loss")
    lines = capfdbinary.readouterr().out.splitlines()
    assert [json.loads(line)["value"] for line in lines] == [2.0, 1.0]


def test_what_cannot_be_done_is_said(study: Study, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no study Gone: give its number"):
        run_export("Gone", tmp_path / "x.csv")
    with pytest.raises(CommandError, match="cannot be written: No such file or directory"):
        run_export(study.pk, tmp_path / "no" / "x.csv")


def test_a_failed_export_leaves_what_was_there(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.csv"
    path.write_text("before")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(CommandError, match="No space left"):
        run_export(study.pk, path)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("kept.csv", "before")]


def refuse(path: Path, target: Path) -> None:
    raise OSError(28, "No space left on device")
