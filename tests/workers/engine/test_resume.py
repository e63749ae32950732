from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from benchmarks.kill import SPEC, run_disturbed, run_undisturbed
from workers.engine import checkpoint, simulate
from workers.engine.checkpoint import CheckpointPolicy, checkpoints_in, policy_of
from workers.engine.records import Result, RoundRecord
from workers.errors import CheckpointError, StopRequested

RUN: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "strategy": {"name": "scaffold"},
    "clients": 8,
    "cohort": 4,
    "rounds": 6,
    "local": {"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.05}},
    "engine": "cohort",
}
STATEFUL = [
    {"name": "fedavg"},
    {"name": "fedprox", "mu": 0.1},
    {"name": "fedadam"},
    {"name": "fedavgm", "server_momentum": 0.9},
    {"name": "scaffold"},
    {"name": "fednova"},
    {"name": "local-only"},
]


def curve(history: list[RoundRecord] | tuple[RoundRecord, ...]) -> list[object]:
    """All that must be equal; seconds never are."""
    return [
        (each.round, {name: repr(value) for name, value in each.metrics.items() if not name.startswith("seconds")})
        for each in history
    ]


def bits(result: Result) -> dict[str, bytes]:
    return {name: np.asarray(array).tobytes() for name, array in result.parameters.items()}


def after(calls: int) -> Callable[[], bool]:
    """Asks for a stop at that question."""
    left = iter(range(calls))
    return lambda: next(left, None) is None


def stop_and_resume(spec: dict[str, Any], folder: Path, steps: int) -> tuple[list[RoundRecord], Result]:
    records: list[RoundRecord] = []
    with pytest.raises(StopRequested):
        simulate(spec, checkpoint=folder, on_round=records.append, stop=after(steps), device="cpu")
    result = simulate(spec, checkpoint=folder, on_round=records.append, device="cpu")
    return records, result


@pytest.mark.parametrize("strategy", STATEFUL, ids=lambda strategy: strategy["name"])
def test_a_stopped_run_goes_on_to_the_same_end(tmp_path: Path, strategy: dict[str, Any]) -> None:
    spec = RUN | {"strategy": strategy}
    expected = simulate(spec, device="cpu")
    records, result = stop_and_resume(spec, tmp_path, steps=21)
    assert [record.round for record in records] == [0, 1, 2, 3, 4, 5, 6]
    assert curve(records) == curve(expected.history) == curve(result.history)
    assert bits(result) == bits(expected)


@pytest.mark.parametrize("steps", [0, 1, 6, 7, 30, 35])
def test_it_does_not_matter_where_it_was_stopped(tmp_path: Path, steps: int) -> None:
    expected = simulate(RUN, device="cpu")
    _, result = stop_and_resume(RUN, tmp_path, steps)
    assert curve(result.history) == curve(expected.history)
    assert bits(result) == bits(expected)


def test_the_sequential_executor_goes_on_too(tmp_path: Path) -> None:
    spec = RUN | {"engine": "sequential"}
    expected = simulate(spec, device="cpu")
    _, result = stop_and_resume(spec, tmp_path, steps=50)
    assert bits(result) == bits(expected)


def test_the_executor_of_the_first_attempt_is_kept(tmp_path: Path) -> None:
    with pytest.raises(StopRequested):
        simulate(RUN | {"engine": "auto"}, checkpoint=tmp_path, stop=after(50), device="cpu", engine="sequential")
    result = simulate(RUN | {"engine": "auto"}, checkpoint=tmp_path, device="cpu")
    assert result.provenance["engine"] == "sequential"


def test_a_truncated_newest_checkpoint_gives_way_to_the_one_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = simulate(RUN, device="cpu")
    with pytest.raises(StopRequested):
        simulate(RUN, checkpoint=CheckpointPolicy(tmp_path, every=2), stop=after(33), device="cpu")
    newest, before = checkpoints_in(tmp_path)
    arrays = newest / "arrays.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-100])
    records: list[RoundRecord] = []
    with caplog.at_level(logging.WARNING):
        result = simulate(RUN, checkpoint=tmp_path, on_round=records.append, device="cpu")
    assert f"{newest.name} are truncated or damaged" in caplog.text
    assert records[0].round == int(before.name.removeprefix("round-")) + 1
    assert bits(result) == bits(expected)
    assert curve(result.history) == curve(expected.history)


def test_another_runs_checkpoint_is_not_believed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    simulate(RUN, checkpoint=CheckpointPolicy(tmp_path, every=3), device="cpu")
    other = RUN | {"seed": 1}
    records: list[RoundRecord] = []
    with caplog.at_level(logging.WARNING):
        result = simulate(other, checkpoint=tmp_path, on_round=records.append, device="cpu")
    assert "belongs to another run" in caplog.text
    assert records[0].round == 0
    assert bits(result) == bits(simulate(other, device="cpu"))


def test_a_finished_run_has_nothing_left_to_do(tmp_path: Path) -> None:
    first = simulate(RUN, checkpoint=CheckpointPolicy(tmp_path, every=1), device="cpu")
    records: list[RoundRecord] = []
    again = simulate(RUN, checkpoint=policy_of(tmp_path), on_round=records.append, device="cpu")
    assert records == []
    assert bits(again) == bits(first)


def test_a_run_that_is_killed_ends_equal_to_the_bit(tmp_path: Path) -> None:
    """The short form; `python -m benchmarks.kill` is the long one, with twenty kills."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC % 40)
    expected = run_undisturbed(spec, tmp_path / "undisturbed")
    resumed = run_disturbed(spec, tmp_path / "disturbed", kills=2, random=Random(1))
    assert resumed.kills == 2
    assert len(resumed.rounds) == 41
    assert resumed.rounds == expected.rounds
    assert resumed.parameters == expected.parameters is not None


def test_a_run_goes_on_without_a_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    failures: list[tuple[int, str]] = []
    policy = CheckpointPolicy(blocked, every=2, on_unsaved=lambda number, error: failures.append((number, str(error))))
    result = simulate(RUN, checkpoint=policy, device="cpu")
    assert [number for number, _ in failures] == [2, 4, 6]
    assert all(f"The checkpoint of round {number} could not be written" in text for number, text in failures)
    assert bits(result) == bits(simulate(RUN, device="cpu"))


def test_a_run_that_nobody_listens_to_fails_where_its_checkpoint_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(CheckpointError, match="The checkpoint of round 2 could not be written"):
        simulate(RUN, checkpoint=CheckpointPolicy(blocked, every=2), device="cpu")


def test_checkpoints_keep_a_distance_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not within 30 s of the one before: rounds that take 12 s are saved at 36 s and 72 s."""
    now = [0.0]
    monkeypatch.setattr(checkpoint, "monotonic", lambda: now[0])
    clock = checkpoint.CheckpointClock(checkpoint.CheckpointPolicy(tmp_path, every=1, seconds=30.0))
    saved = []
    for number in range(1, 8):
        now[0] += 12.0
        if clock.is_due(number):
            saved.append(number)
    assert saved == [3, 6]
    clock = checkpoint.CheckpointClock(checkpoint.CheckpointPolicy(tmp_path, every=3))
    assert [number for number in range(1, 10) if clock.is_due(number)] == [3, 6, 9]
