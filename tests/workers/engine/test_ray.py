from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from workers.engine import simulate
from workers.engine.checkpoint import checkpoints_in
from workers.engine.execution.executors import EXECUTORS
from workers.engine.execution.ray_executor import RayExecutor
from workers.engine.execution.ray_server import RoundRequest, StartRequest
from workers.engine.records import RoundRecord
from workers.errors import StopRequested, TributaryError

RUN: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "strategy": {"name": "scaffold"},
    "clients": 6,
    "cohort": 3,
    "rounds": 3,
    "client_dropout": 0.2,
    "stragglers": 0.3,
    "local": {"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.05}},
    "precision": "float64",
}


def ray_processes() -> set[int]:
    pids = set()
    for process in psutil.process_iter(["pid", "cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if "workers.engine.execution.ray_server" in words or "tributary-ray-" in words:
            pids.add(process.info["pid"])
    return pids


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    before = ray_processes()
    yield
    left = [psutil.Process(pid) for pid in ray_processes() - before if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(left, timeout=20)
    assert [process.cmdline() for process in alive] == []


def test_it_is_stopped_and_goes_on_to_the_end_that_the_sequential_executor_reaches(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One start would do for the equality; the second one shows that client state comes back from the checkpoint."""
    expected = simulate(RUN | {"engine": "sequential"}, device="cpu")
    records: list[RoundRecord] = []
    spec = RUN | {"engine": "ray"}
    with pytest.raises(StopRequested):
        simulate(spec, checkpoint=tmp_path, on_round=records.append, stop=lambda: len(records) > 2, device="cpu")
    assert [path.name for path in checkpoints_in(tmp_path)] == ["round-00000002"]
    with caplog.at_level(logging.WARNING):
        result = simulate(spec, checkpoint=tmp_path, on_round=records.append, device="cpu")
    assert result.provenance["engine"] == "ray"
    assert [record.round for record in records] == [0, 1, 2, 3]
    assert [record.cohort for record in records] == [record.cohort for record in expected.history]
    for name, array in expected.parameters.items():
        assert np.abs(result.parameters[name] - array).max() < 1e-8
    for record, reference in zip(records, expected.history, strict=True):
        assert record.metrics["loss"] == pytest.approx(reference.metrics["loss"], abs=1e-8)
        assert record.metrics["bytes_up"] == reference.metrics["bytes_up"]


def test_a_runtime_that_does_not_start_is_started_again_and_one_that_ends_later_fails_the_run() -> None:
    killed = []

    def kill_the_runtime(record: RoundRecord) -> None:
        for child in psutil.Process().children():
            if "workers.engine.execution.ray_server" in child.cmdline():
                child.kill()
                killed.append(record.round)

    with pytest.raises(TributaryError, match=r"^Flower's Ray runtime ended unexpectedly"):
        simulate(RUN | {"engine": "ray"}, on_round=kill_the_runtime, device="cpu")
    assert killed == [0, 1]


RUNTIME = """
import os, socket, sys
from multiprocessing.connection import Connection
log, descriptor = sys.argv[1], int(sys.argv[2])
parent = Connection(descriptor)
with open(log, "a") as file: file.write("started\\n")
"""
"""The beginning of a stand-in for the runtime, which then does as a test says."""
DEATHS = {
    "before it is sent a round": """
parent.recv_bytes()
socket.socket(fileno=os.dup(descriptor)).shutdown(socket.SHUT_RD)
parent.send("ready")
""",
    "before it reads what it is sent": """
parent.recv_bytes()
parent.send("ready")
parent.poll(None)
""",
    "in the middle of its answer": """
parent.recv_bytes()
parent.send("ready")
parent.recv_bytes()
os.write(descriptor, (1000).to_bytes(4, "big") + b"half")
""",
}


class Starts:
    """Puts a stand-in in the place of Flower's runtime, and counts how often it is started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
        self.monkeypatch, self.log = monkeypatch, log

    def use(self, script: str, executor: type[RayExecutor] = RayExecutor) -> None:
        command = (sys.executable, "-c", RUNTIME + script, str(self.log))
        self.monkeypatch.setitem(EXECUTORS, "ray", lambda trainer: executor(trainer, command))

    @property
    def count(self) -> int:
        return len(self.log.read_text().splitlines())


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Starts:
    return Starts(monkeypatch, tmp_path / "starts.txt")


@pytest.mark.parametrize("moment", DEATHS)
def test_a_runtime_that_ends_in_a_round_is_no_fault_of_a_client(starts: Starts, moment: str) -> None:
    """Whether writing to it fails, reading from it, or reading the rest of a message."""
    starts.use(DEATHS[moment])

    with pytest.raises(TributaryError, match=r"^Flower's Ray runtime ended unexpectedly"):
        simulate(RUN | {"engine": "ray"}, device="cpu")
    assert starts.count == 1


def test_a_runtime_that_ends_before_it_is_told_what_to_do_is_started_again(starts: Starts) -> None:
    class LateExecutor(RayExecutor):
        def send(self, request: StartRequest | RoundRequest) -> None:
            self.process.wait()
            super().send(request)

    starts.use("", LateExecutor)

    with pytest.raises(TributaryError, match=r"^Flower's Ray runtime ended unexpectedly"):
        simulate(RUN | {"engine": "ray"}, device="cpu")
    assert starts.count == 2


def test_a_stop_while_the_runtime_starts_does_not_start_it_again(starts: Starts) -> None:
    starts.use("parent.recv_bytes(); parent.poll(None)")

    with pytest.raises(StopRequested, match="Stopped in round 1"):
        simulate(RUN | {"engine": "ray"}, device="cpu", stop=lambda: starts.log.exists())
    assert starts.count == 1
