"""Results of elsewhere come in, once however often; a study leaves as event files that TensorBoard reads."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tributary import Connection, LabError, imports
from tributary.command_line import main
from tributary.event_files import ScalarEvent, masked_crc, read_scalars, write_events
from tributary.import_sources import read_flower, read_tables, read_tensorboard, read_wandb
from tributary.imports import prepare, send_all

from experiments.models import Metric, Run, RunState, Study

WIDE = "name,epoch,test_acc,loss,mu,seed\na,1,0.5,1.0,0.1,0\na,2,0.75,nan,0.1,0\nb,1,0.25,,0.1,1\n"
MAPPING = {"run": "name", "round": "epoch", "metrics": {"accuracy": "test_acc", "loss": "loss"}, "config": ["mu"]}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(WIDE)
    (tmp_path / "mapping.json").write_text(json.dumps({**MAPPING, "seed": "seed"}))
    (tmp_path / "mapping.yaml").write_text(
        "run: name\nround: epoch\nmetrics: {accuracy: test_acc, loss: loss}\nconfig: [mu]\nseed: seed\n"
    )
    return path


def test_a_table_comes_in_once_and_is_taken_back(
    lab: Connection, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["import", "csv", str(table), "--study", "Old", "--mapping", str(table.with_name("mapping.yaml"))]
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "study  run  rounds  metrics         seed  config",
        "Old    a    2       accuracy, loss  0     mu=0.1  new",
        "Old    b    1       accuracy        1     mu=0.1  new",
    ]
    assert not Study.objects.exists()
    for words in ("2 runs imported, 0 were there.", "0 runs imported, 2 were there."):
        assert main(command) == 0
        assert words in capsys.readouterr().out
    first, second = Run.objects.order_by("pk")
    assert (first.state, first.seed, second.seed, first.cell == second.cell) == (RunState.DONE, 0, 1, True)
    assert first.spec["app"] == {"name": "Old", "config": {"mu": 0.1}}
    assert {name: first.provenance["logged"][name] for name in ("imported", "run")} == {"imported": "csv", "run": "a"}
    values = {(each.round, each.name): each.value for each in Metric.objects.filter(run=first)}
    assert math.isnan(values.pop((2, "loss")))
    assert values == {(1, "accuracy"): 0.5, (2, "accuracy"): 0.75, (1, "loss"): 1.0}

    table.write_text(WIDE.replace("0.75", "0.8"))
    assert main(command) == 1
    assert "a: This run is in the lab with other content" in capsys.readouterr().err
    assert main([*command, "--dry-run"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[-1] for row in rows] == ["changed", "known"]
    assert main(["import", "--undo", "Old"]) == 0
    assert not Run.objects.exists()
    assert main(command) == 0
    assert Metric.objects.get(run__seed=0, round=2, name="accuracy").value == 0.8


def test_an_import_that_was_cut_off_goes_on(lab: Connection, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "RUNS_AT_ONCE", 1)
    messages = prepare(read_tables(table, {**MAPPING, "seed": "seed"}), str(table), "Old")
    assert send_all(lab, messages[:1], "csv", str(table)) == {"new": 1, "known": 0}
    assert send_all(lab, messages, "csv", str(table)) == {"new": 1, "known": 1}
    assert Run.objects.filter(state=RunState.DONE).count() == 2
    assert Metric.objects.filter(run__seed=0).count() == 4


def test_undo_leaves_a_study_that_holds_what_a_script_logged(
    lab: Connection, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    send_all(lab, prepare(read_tables(table, MAPPING), str(table), "Old"), "csv", str(table))
    lab.post("/logged-runs", {"study": "Old"})
    assert main(["import", "--undo", "Old"]) == 1
    assert "was not imported. Nothing was deleted" in capsys.readouterr().err
    assert Run.objects.count() == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (WIDE.replace("a,2", "a,x"), "line 3: 'x' is no round"),
        (WIDE.replace("0.75", "good"), "line 3: 'good' is no number"),
        (WIDE.replace("nan,0.1", "nan,0.2"), "line 3: mu of run a is 0.2, and was 0.1"),
        (WIDE.replace("test_acc", "acc"), "no column test_acc. Its columns: name, epoch, acc"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_with_its_line(table: Path, text: str, words: str) -> None:
    table.write_text(text)
    with pytest.raises(LabError, match=words):
        read_tables(table, MAPPING)


def test_a_parquet_file_of_tidy_rows_needs_no_mapping(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"run": [7, 7], "round": [0, 1], "metric": ["loss", "loss"], "value": [2.0, 1.5], "mu": [0.1, 0.1]}
    parquet.write_table(pa.table(columns), tmp_path / "all.parquet")
    (run,) = read_tables(tmp_path / "all.parquet")
    assert (run.name, run.config, run.rounds) == ("7", {"mu": 0.1}, {0: {"loss": 2.0}, 1: {"loss": 1.5}})


def test_charts_and_histories_of_wandb(tmp_path: Path) -> None:
    (tmp_path / "chart.csv").write_text('"Step","a - loss","a - loss__MIN","a - loss__MAX"\n1,0.5,0.5,0.5\n')
    (tmp_path / "b.csv").write_text("_step,_runtime,loss\n0,3,0.25\n")
    assert {run.name: run.rounds for run in read_wandb(tmp_path)} == {"a": {1: {"loss": 0.5}}, "b": {0: {"loss": 0.25}}}


def test_flowers_history_and_result(tmp_path: Path) -> None:
    history = {
        "losses_centralized": [[0, 2.0]],
        "metrics_centralized": {"accuracy": [[0, 0.125]]},
        "metrics_distributed_fit": {"train_loss": [[1, 0.5]]},
    }
    result = {"evaluate_metrics_clientapp": {"1": {"accuracy": 0.75}}, "config": {"seed": 4}}
    (tmp_path / "history.json").write_text(json.dumps(history))
    (tmp_path / "result.json").write_text(json.dumps(result))
    first, second = read_flower(tmp_path)
    assert first.rounds == {0: {"loss": 2.0, "accuracy": 0.125}, 1: {"train_loss": 0.5}}
    assert (second.rounds, second.config) == ({1: {"client_accuracy": 0.75}}, {"seed": 4})


def test_the_checksum_is_that_of_its_standard() -> None:
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720's polynomial); masked as TFRecord says.
    assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_files_of_tensorboards_own_writer_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "fedavg"
    writer = EventFileWriter(str(folder))
    for step, value in ((1, 0.5), (2, 0.25)):
        writer.add_event(Event(step=step, summary=Summary(value=[Summary.Value(tag="loss", simple_value=value)])))
    writer.close()
    (run,) = read_tensorboard(tmp_path / "logs")
    assert (run.name, run.rounds) == ("fedavg", {1: {"loss": 0.5}, 2: {"loss": 0.25}})
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])  # its writer was killed
    assert [event.step for event in read_scalars(file)] == [1]
    file.write_bytes(whole[:-6] + b"\x00" + whole[-5:])
    with pytest.raises(LabError, match="another checksum"):
        read_tensorboard(tmp_path / "logs")


def test_tensorboard_reads_what_is_written(tmp_path: Path) -> None:
    events = [ScalarEvent(10.5, 0, "accuracy", 0.5), ScalarEvent(11.5, 300, "accuracy", math.inf)]
    write_events(tmp_path / "events.out.tfevents.0.tributary", events)
    reader = EventAccumulator(str(tmp_path)).Reload()
    read = [(each.wall_time, each.step, each.value) for each in reader.Scalars("accuracy")]
    assert read == [(10.5, 0, 0.5), (11.5, 300, math.inf)]


def test_a_study_leaves_for_tensorboard_and_again_without_doubles(lab: Connection, table: Path) -> None:
    send_all(lab, prepare(read_tables(table, {**MAPPING, "seed": "seed"}), str(table), "Old"), "csv", str(table))
    folder = table.with_name("board")
    for _ in range(2):
        assert main(["export", str(Study.objects.get().pk), str(folder), "--to", "tensorboard"]) == 0
    assert sorted(each.name for each in folder.iterdir()) == ["run-0000-seed-0", "run-0001-seed-1"]
    reader = EventAccumulator(str(folder / "run-0000-seed-0")).Reload()
    assert [(each.step, each.value) for each in reader.Scalars("accuracy")] == [(1, 0.5), (2, 0.75)]
