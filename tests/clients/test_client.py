"""The Python client and its command line, against a lab that runs."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tributary
from tributary import AwayError, Connection, LabError, Login
from tributary.command_line import main
from tributary.definitions import parse_assignment, read_definition
from tributary.outbox import RunFile, waiting_files

from experiments.models import Metric, Run, RunState, Study
from tests.live import LivePlatform

SOURCES = Path(__file__).parents[2] / "clients" / "python" / "src"
GRID = """
name: From a file
blocks:
  - dataset: {name: digits}
    model: {name: mlp-50}
    strategy: {name: fedprox, mu: 1e-3}
    clients: 3
    rounds: 2
    seeds: 2
"""


def curve(run: int, name: str = "accuracy") -> dict[int, float]:
    return {each.round: each.value for each in Metric.objects.filter(run_id=run, name=name)}


def test_a_grid_is_launched_waited_for_and_read_as_a_table(lab: Connection, tmp_path: Path) -> None:
    file = tmp_path / "grid.yaml"
    file.write_text(GRID)
    plan = tributary.launch(file, dry_run=True, **{"strategy.mu": [0.001, 0.1]})
    assert (plan["runs"], plan["cells"]) == (4, 2)
    study = tributary.launch(file, **{"strategy.mu": [0.001, 0.1]})
    study.wait(every=0.2, timeout=120, quiet=True)
    assert study.counts["done"] == 4
    frame = study.metrics("accuracy")
    assert sorted(frame.columns) == ["cell", "metric", "round", "run", "seed", "strategy.mu", "study", "value"]
    assert len(frame) == 4 * 3
    stored = {(each.run_id, each.round): each.value for each in Metric.objects.filter(name="accuracy")}
    assert {(row.run, row.round): row.value for row in frame.itertuples()} == stored
    summary = study.summary(by="strategy.mu")
    assert list(summary["strategy.mu"]) == [0.001, 0.1]
    assert list(summary["n"]) == [2, 2]
    assert "<svg" in study._repr_html_()
    assert study.export(tmp_path / "all.csv").read_text().startswith('"run","study","cell"')
    assert [each.name for each in tributary.studies("From a file")] == ["From a file"]


def test_keywords_take_names_for_components(lab: Connection) -> None:
    block = {"dataset": {"name": "digits"}, "rounds": 2}
    study = read_definition(
        lab, block, {"strategy": ["fedavg", {"name": "fedprox", "mu": 0.1}], "name": "Two", "seeds": 3}
    )
    assert study == {
        "name": "Two",
        "blocks": [
            {
                "dataset": {"name": "digits"},
                "rounds": 2,
                "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.1}],
                "seeds": 3,
            }
        ],
    }


def test_refusals_say_every_problem_with_its_path(lab: Connection) -> None:
    with pytest.raises(LabError) as refused:
        tributary.launch({"dataset": {"name": "digits"}, "model": {"name": "mlp-50"}, "strategy": {"name": "fedavgg"}})
    assert refused.value.status == 422
    assert "blocks.0.strategy: Unknown name: fedavgg" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("strategy.mu=0.01,0.1", ("strategy.mu", [0.01, 0.1])),
        ("seeds=5", ("seeds", 5)),
        ("strategy=fedavg,fedprox", ("strategy", ["fedavg", "fedprox"])),
        ('partition={"name":"shards","per_client":2},iid', ("partition", [{"name": "shards", "per_client": 2}, "iid"])),
        ("stop.patience=null", ("stop.patience", None)),
    ],
)
def test_assignments_of_the_command_line(text: str, value: object) -> None:
    assert parse_assignment(text) == value


def test_a_loop_of_ones_own_is_logged(lab: Connection) -> None:
    with tributary.init("My own loop", config={"lr": 0.1, "net": {"width": 8}}, seed=3, script="loop.py") as run:
        for step in range(3):
            run.log({"accuracy": 0.5 + step / 10, "loss": math.nan if step == 2 else 1.0})
    logged = Run.objects.get()
    assert (logged.state, logged.seed, logged.rounds_done) == (RunState.DONE, 3, 2)
    assert logged.spec["app"] == {"name": "loop.py", "config": {"lr": 0.1, "net.width": 8}}
    assert logged.provenance["logged"]["python"] == sys.version.split()[0]
    assert curve(logged.pk) == {0: 0.5, 1: 0.6, 2: 0.7}
    assert math.isnan(curve(logged.pk, "loss")[2])
    assert waiting_files() == []


def test_an_exception_ends_the_run_as_failed(lab: Connection) -> None:
    def train() -> None:
        with tributary.init("My own loop") as run:
            run.log({"loss": 1.0})
            raise ValueError("no data")

    with pytest.raises(ValueError, match="no data"):
        train()
    logged = Run.objects.get()
    assert (logged.state, logged.reason) == (RunState.FAILED, "ValueError: no data")


def test_what_an_absent_lab_missed_arrives_once_by_sync(lab: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    away = Connection(Login("http://127.0.0.1:1", "secret"))
    run = tributary.init("Away", seed=1, lab=away)
    for step in range(1000):
        run.log({"accuracy": step / 1000})
    with pytest.warns(UserWarning, match="tributary sync"):
        run.finish()
    assert not Run.objects.exists()
    (file,) = waiting_files()
    assert main(["sync"]) == 0
    assert "done" in capsys.readouterr().out
    logged = Run.objects.get()
    assert (logged.state, logged.rounds_done) == (RunState.DONE, 999)
    assert curve(logged.pk) == {step: step / 1000 for step in range(1000)}
    assert not file.path.exists()
    assert main(["sync"]) == 0
    assert "Nothing waits" in capsys.readouterr().out


def test_a_sender_that_was_cut_off_begins_again_without_doubles(lab: Connection) -> None:
    file = RunFile.create({"study": "Cut off", "config": {}, "seed": 0})
    for step in range(3):
        file.append({"round": step, "metrics": {"accuracy": step / 10}})
    file.send(lab)
    file.progress_path.unlink()  # the answers never came
    again = RunFile(file.path)
    again.append({"round": 3, "metrics": {"accuracy": 0.3}})
    again.append({"finish": {"state": "done", "reason": ""}})
    assert again.send(lab) == "done"
    assert curve(Run.objects.get().pk) == {0: 0.0, 1: 0.1, 2: 0.2, 3: 0.3}


def test_what_a_killed_script_logged_is_sent_by_sync(lab: Connection, tmp_path: Path) -> None:
    code = (
        "import os, tributary\nrun = tributary.init('Killed')\n"
        "[run.log({'accuracy': step / 10}) for step in range(5)]\nos.kill(os.getpid(), 9)"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCES),
        "TRIBUTARY_URL": "http://127.0.0.1:1",
        "TRIBUTARY_TOKEN": "secret",
        "TRIBUTARY_OUTBOX": str(tmp_path / "outbox"),
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert main(["sync"]) == 0
    logged = Run.objects.get()
    assert (logged.state, curve(logged.pk)) == (RunState.RUNNING, {0: 0.0, 1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4})


def test_a_run_that_somebody_cancelled_takes_no_more(lab: Connection) -> None:
    run = tributary.init("Cancelled")
    run.log({"loss": 1.0})
    while run.id is None:
        time.sleep(0.05)
    lab.post(f"/runs/{run.id}/cancel")

    def go_on() -> None:
        while run.thread.is_alive():
            run.log({"loss": 0.5})
            time.sleep(0.1)

    with pytest.warns(UserWarning, match="takes no more"):
        go_on()
    run.finish()
    assert Run.objects.get().state == RunState.CANCELLED


def test_nobody_at_the_address_is_said_so(lab: Connection) -> None:
    away = Connection(Login("http://127.0.0.1:1", "secret"))
    with pytest.raises(AwayError, match="does not answer"):
        away.request("GET", "/studies", tries=1)


def test_the_command_line_launches_shows_and_exports(
    lab: Connection, live_platform: LivePlatform, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = tmp_path / "grid.yaml"
    grid.write_text(GRID)
    assert main(["launch", str(grid), "strategy.mu=0.01", "seeds=1", "--wait"]) == 0
    study = Study.objects.get()
    assert study.blocks[0]["strategy"] == {"name": "fedprox", "mu": 0.01}
    assert f"Launched study {study.pk}: 1 runs." in capsys.readouterr().out
    assert main(["show", str(study.pk), "--by", "strategy"]) == 0
    assert "fedprox" in capsys.readouterr().out
    assert main(["list"]) == 0
    assert "From a file" in capsys.readouterr().out
    assert main(["export", str(study.pk), str(tmp_path / "all.ndjson")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "all.ndjson").read_text().splitlines()]
    assert {row["round"] for row in rows} == {0, 1, 2}
    assert main(["compare", str(study.pk), "--latex"]) == 0
    assert r"\begin{tabular}" in capsys.readouterr().out
    assert main(["launch", str(grid), "strategy.muu=1"]) == 1
    assert "blocks.0.strategy.muu" in capsys.readouterr().err


def test_a_fork_that_ends_does_not_end_the_run(lab: Connection) -> None:
    run = tributary.init("Forked")
    run.log({"loss": 1.0})
    child = os.fork()
    if not child:
        run.finish()  # as `atexit` would
        os._exit(0)
    os.waitpid(child, 0)
    run.log({"loss": 0.5})
    run.finish()
    logged = Run.objects.get()
    assert (logged.state, curve(logged.pk, "loss")) == (RunState.DONE, {0: 1.0, 1: 0.5})


def test_what_the_lab_does_not_take_is_said_once_kept_and_in_nobodys_way(
    lab: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    def log_wrongly() -> tributary.LoggedRun:
        run = tributary.init("Wrong", script="a.py")
        run.log({"x" * 101: 1.0})
        run.finish()
        return run

    with pytest.warns(UserWarning, match="kept") as told:
        wrong = log_wrongly()
    refusals = [each for each in told if "A metric's name has 1 to 100 characters" in str(each.message)]
    assert len(refusals) == 1
    away = Connection(Login("http://127.0.0.1:1", "secret"))
    right = tributary.init("Right", lab=away, script="b.py")
    right.log({"loss": 1.0})
    with pytest.warns(UserWarning, match="tributary sync"):
        right.finish()
    assert main(["sync"]) == 0
    assert "refused, and kept: " in capsys.readouterr().out
    assert Run.objects.get(studies__name="Right").state == RunState.DONE
    assert [each.path for each in waiting_files()] == [wrong.file.path]


def test_a_round_before_the_first_is_refused_at_once(lab: Connection) -> None:
    run = tributary.init("Negative")
    with pytest.raises(ValueError, match="Rounds are numbered from 0, not -1"):
        run.log({"loss": 1.0}, round=-1)
    run.finish()
