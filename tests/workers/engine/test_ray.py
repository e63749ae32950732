from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from workers.engine import simulate
from workers.engine.checkpoint import checkpoints_in
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
    found = set()
    for process in psutil.process_iter(["pid", "cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if "workers.engine.execution.ray_server" in words or "tributary-ray-" in words:
            found.add(process.info["pid"])
    return found


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    before = ray_processes()
    yield
    left = [psutil.Process(pid) for pid in ray_processes() - before if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(left, timeout=20)
    assert [process.cmdline() for process in alive] == []


def test_it_is_stopped_and_goes_on_to_the_end_that_the_sequential_path_reaches(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One start would do for the equality; the second one shows that client state comes back from the checkpoint."""
    expected = simulate(RUN | {"engine": "sequential"}, device="cpu")
    seen: list[RoundRecord] = []
    spec = RUN | {"engine": "ray"}
    with pytest.raises(StopRequested):
        simulate(spec, checkpoint=tmp_path, on_round=seen.append, stop=lambda: len(seen) > 2, device="cpu")
    assert [path.name for path in checkpoints_in(tmp_path)] == ["round-00000002"]
    with caplog.at_level(logging.WARNING):
        result = simulate(spec, checkpoint=tmp_path, on_round=seen.append, device="cpu")
    assert result.provenance["engine"] == "ray"
    assert [record.round for record in seen] == [0, 1, 2, 3]
    assert [record.cohort for record in seen] == [record.cohort for record in expected.history]
    for name, array in expected.parameters.items():
        assert np.abs(result.parameters[name] - array).max() < 1e-8
    for record, reference in zip(seen, expected.history, strict=True):
        assert record.metrics["loss"] == pytest.approx(reference.metrics["loss"], abs=1e-8)
        assert record.metrics["bytes_up"] == reference.metrics["bytes_up"]


def test_a_runtime_that_does_not_start_is_started_again_and_one_that_ends_later_fails_the_run() -> None:
    killed = []

    def kill_the_runtime(record: RoundRecord) -> None:
        for child in psutil.Process().children():
            if "workers.engine.execution.ray_server" in child.cmdline():
                child.kill()
                killed.append(record.round)

    with pytest.raises(TributaryError, match="Flower's Ray runtime ended unexpectedly"):
        simulate(RUN | {"engine": "ray"}, on_round=kill_the_runtime, device="cpu")
    assert killed == [0, 1]
