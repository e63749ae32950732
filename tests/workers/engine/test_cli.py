from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workers.engine.__main__ import main
from workers.engine.records import RoundRecord
from workers.engine.terminal import CLEAR_LINE, Terminal, duration_text, progress_bar, round_line, seconds_left

SPEC = """
dataset: {name: digits}
model: {name: logistic}
strategy: {name: fedavg}
clients: 10
cohort: 3
rounds: 3
local: {optimizer: {name: sgd, lr: 1e-1}}
evaluation: {on: server}
engine: cohort
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC)
    return path


@pytest.fixture(autouse=True)
def _signals_stay_as_they_were() -> object:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_it_prints_a_line_per_round(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(spec)]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["round 0/3", "round 1/3", "round 2/3", "round 3/3"]
    assert "accuracy 0." in lines[3]
    assert "train_loss" not in lines[0]
    assert "engine cohort, cpu." in output.err


def test_json_has_an_object_a_line(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(spec), "--json", "--device", "cpu"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["started", "round", "round", "round", "round", "done"]
    assert events[0]["engine"] == "cohort"
    assert [event["round"] for event in events[1:-1]] == [0, 1, 2, 3]
    assert len(events[1 + 1]["cohort"]) == 3
    assert events[-1]["provenance"]["engine"] == "cohort"
    assert len(events[-1]["parameters_sha256"]) == 64


def test_options_replace_fields_of_the_spec(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(spec), "--json", "--rounds", "1", "--engine", "sequential", "--seed", "5"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events[0]["engine"] == "sequential"
    assert [event["round"] for event in events[1:-1]] == [0, 1]


def test_a_second_run_goes_on_from_the_checkpoint_and_ends_the_same(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(spec), "--json", "--checkpoint", str(tmp_path / "checkpoints"), "--every", "2"]
    assert main(arguments) == 0
    first = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["round"] for event in first if event["event"] == "checkpoint"] == [2]
    assert main(arguments) == 0
    output = capsys.readouterr()
    second = [json.loads(line) for line in output.out.splitlines()]
    assert "Going on after round 2." in output.err
    assert [event["round"] for event in second if event["event"] == "round"] == [3]
    assert second[-1]["parameters_sha256"] == first[-1]["parameters_sha256"]


def test_the_final_model_can_be_kept(spec: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    assert main([str(spec), "--parameters", str(tmp_path / "model.safetensors")]) == 0
    shapes = {array.shape for array in load_file(tmp_path / "model.safetensors").values()}
    assert shapes == {(10, 64), (10,)}


def test_every_problem_of_a_spec_is_told_with_its_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(SPEC.replace("lr: 1e-1", "lr: -1").replace("rounds: 3", "rounds: 0\nturns: 3"))
    assert main([str(path)]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert errors[0] == "The spec has 3 problems."
    assert [line.split(":")[0].strip() for line in errors[1:]] == ["local.optimizer.lr", "rounds", "turns"]


def test_a_study_is_sent_to_the_right_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("name: a study\nblocks: [{dataset: {name: digits}}]\n")
    assert main([str(path)]) == 2
    assert "manage.py launch" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "- 1\n- 2\n", "just words"])
def test_a_file_without_fields_is_refused(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    assert main([str(path)]) == 2
    assert "A spec is a mapping of fields." in capsys.readouterr().err


def test_a_missing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "absent.yaml")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_a_folder_with_another_runs_checkpoints_is_refused(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints = ["--checkpoint", str(tmp_path / "checkpoints"), "--every", "1"]
    assert main([str(spec), "--rounds", "1", *checkpoints]) == 0
    capsys.readouterr()
    assert main([str(spec), "--rounds", "1", "--seed", "7", *checkpoints]) == 1
    errors = capsys.readouterr().err
    assert "choose another folder" in errors
    assert "round-00000001 belongs to another run" in errors


def test_ctrl_c_stops_with_a_checkpoint_and_the_same_command_goes_on(tmp_path: Path) -> None:
    spec = tmp_path / "long.yaml"
    spec.write_text(SPEC.replace("rounds: 3", "rounds: 100000"))
    command = [
        sys.executable,
        "-m",
        "workers.engine",
        str(spec),
        "--json",
        "--checkpoint",
        str(tmp_path / "checkpoints"),
    ]
    command += ["--every", "100000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert process.stdout
    first_events = [json.loads(process.stdout.readline())["event"] for _ in range(5)]
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    last = json.loads(rest.splitlines()[-1])
    assert first_events == ["started", "round", "round", "round", "round"]
    assert process.returncode == 130
    assert last["event"] == "checkpoint"
    assert (tmp_path / "checkpoints" / f"round-{last['round']:08}").is_dir()
    assert "Stopped in round" in errors
    assert "The same command goes on from there." in errors


RECORD = RoundRecord(2, {"accuracy": 0.5, "loss": float("nan"), "recall.0": 1.0, "seconds": 0.25})


def test_a_line_shows_the_main_numbers() -> None:
    assert round_line(RECORD, 100) == "round   2/100  accuracy 0.5000  loss nan  seconds 0.250 s"


def test_a_bar_shows_share_and_time_left() -> None:
    assert progress_bar(5, 20, 61.0) == "[#######.......................] 25 %  1:01 left"
    assert progress_bar(0, 20, None) == "[..............................] 0 %"


def test_time_left_follows_from_the_rounds_done() -> None:
    assert seconds_left(10.0, 4, 6) == 15.0
    assert seconds_left(10.0, 0, 6) is None
    assert [duration_text(seconds) for seconds in (0.2, 59.5, 3661)] == ["0:01", "1:00", "1:01:01"]


class Watched(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_only_for_a_person_who_watches() -> None:
    screen, file, out = Watched(), io.StringIO(), io.StringIO()
    Terminal(4, out=out, err=screen).write_round(RECORD)
    assert screen.getvalue() == f"{CLEAR_LINE}[###############...............] 50 %"
    Terminal(4, out=out, err=file).write_round(RECORD)
    assert file.getvalue() == ""
    Terminal(4, as_json=True, out=out, err=screen).write_round(RECORD)
    assert screen.getvalue().count("50 %") == 1
