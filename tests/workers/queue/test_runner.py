"""The real runner process, from spec to events, against what the engine returns here."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from workers.engine import simulate
from workers.engine_version import ENGINE_VERSION
from workers.queue.slot import Slot
from workers.spec import launch_identity, parse_run

Event = dict[str, Any]
TIMES = ("seconds", "seconds_cpu", "seconds_train", "seconds_aggregate", "seconds_evaluate")


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    """Kept for the whole file: that is what it is for."""
    slot = Slot()
    yield slot
    slot.close()


def spec(**changes: Any) -> dict[str, Any]:
    fields = {
        "dataset": {"name": "digits"},
        "model": {"name": "mlp-50"},
        "strategy": {"name": "fedavg"},
        "clients": 5,
        "rounds": 3,
    }
    return parse_run({**fields, **changes}).model_dump(mode="json")


def job(folder: Path, spec: dict[str, Any], every: int = 2, resume: tuple[str, ...] = ()) -> dict[str, Any]:
    often = {"every": every, "seconds": 0}
    checkpoint = {"folder": str(folder / "checkpoints"), "token": "t", **often, "resume": list(resume)}
    return {
        "run": 1,
        "spec": spec,
        "launched": asdict(launch_identity(parse_run(spec))),
        "engine": "cohort",
        "checkpoint": checkpoint,
        "artifacts": str(folder / "artifacts"),
    }


@contextmanager
def one_thread() -> Iterator[None]:
    """As the runner has: another number of threads may round otherwise."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def events_until_end(slot: Slot, stop_after_round: int | None = None) -> list[Event]:
    heard: list[Event] = []
    while not heard or heard[-1]["event"] not in ("done", "stopped", "failed", "changed"):
        for event in slot.poll(1.0):
            heard.append(event)
            if event["event"] == "round" and event["round"] == stop_after_round:
                slot.stop()
    return heard


def rounds_in(events: list[Event]) -> dict[int, dict[str, float]]:
    return {each["round"]: timeless(each["metrics"]) for each in events if each["event"] == "round"}


def timeless(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name not in TIMES}


def test_its_rounds_and_model_equal_the_engines(slot: Slot, tmp_path: Path) -> None:
    slot.start(job(tmp_path, spec()))
    events = events_until_end(slot)
    names = [each["event"] for each in events if each["event"] != "ready"]
    assert [each for each in names if each != "checkpoint"] == ["started", "round", "round", "round", "round", "done"]
    # It is written beside the third round, and told before the end.
    assert names.count("checkpoint") == 1
    assert names.index("checkpoint") >= 4
    with one_thread():
        here = simulate(spec(), device="cpu", engine="cohort")
    assert rounds_in(events) == {each.round: timeless(dict(each.metrics)) for each in here.history}
    model = load_file(events[-1]["artifact"])
    assert model.keys() == here.parameters.keys()
    assert all(np.array_equal(model[name], here.parameters[name]) for name in model)


def test_a_stopped_run_goes_on_from_its_checkpoint(slot: Slot, tmp_path: Path) -> None:
    long = spec(rounds=60, local={"epochs": 20})
    slot.start(job(tmp_path, long, every=10))
    first = events_until_end(slot, stop_after_round=3)
    assert first[-1]["event"] == "stopped"
    saved = [each for each in first if each["event"] == "checkpoint"][-1]
    assert max(rounds_in(first)) == saved["round"]
    slot.start(job(tmp_path, long, resume=(saved["path"], "/nowhere/round-1")))
    again = events_until_end(slot, stop_after_round=saved["round"] + 1)
    assert min(rounds_in(again)) == saved["round"] + 1


def test_a_late_stop_does_not_end_the_next_run(slot: Slot, tmp_path: Path) -> None:
    slot.start(job(tmp_path / "a", spec(rounds=1)))
    events_until_end(slot)
    slot.stop()
    slot.start(job(tmp_path / "b", spec(rounds=1)))
    assert events_until_end(slot)[-1]["event"] == "done"


def test_an_impossible_federation_fails_with_its_reason_and_leaves_the_runner_warm(slot: Slot, tmp_path: Path) -> None:
    impossible = spec(clients=100, partition={"name": "label-dirichlet", "alpha": 0.01, "min_size": 14})
    slot.start(job(tmp_path, impossible))
    failed = events_until_end(slot)[-1]
    assert failed["event"] == "failed"
    assert "Traceback" in failed["trace"]
    assert slot.pid


def test_a_final_model_that_cannot_be_written_fails_with_what_to_do(slot: Slot, tmp_path: Path) -> None:
    (tmp_path / "artifacts").touch()
    slot.start(job(tmp_path, spec(rounds=1)))
    failed = events_until_end(slot)[-1]
    assert failed["event"] == "failed"
    assert failed["reason"].startswith("The final model could not be written (")
    assert failed["reason"].endswith("). Free some space and retry.")


def test_a_checkpoint_that_cannot_be_written_is_told_and_the_run_goes_on(slot: Slot, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").touch()
    slot.start(job(tmp_path, spec(rounds=3)))
    events = events_until_end(slot)
    assert [(each["event"], each.get("round")) for each in events if each["event"] != "round"] == [
        ("started", None),
        ("unsaved", 2),
        ("done", None),
    ]


def test_a_run_that_was_launched_with_other_code_is_not_computed(slot: Slot, tmp_path: Path) -> None:
    message = job(tmp_path, spec())
    message["launched"]["hash"] = "0" * 64
    message["launched"]["sources"]["versions"]["strategy"] = 7
    slot.start(message)
    (event,) = [each for each in events_until_end(slot) if each["event"] != "ready"]
    assert event == {
        "event": "changed",
        "reason": "The code of the strategy fedavg is not the one this run was launched with: it is 1, not 7. "
        "Relaunch to compute it with what is here now.",
        "outdated": False,
        "code": True,
    }


def test_a_run_of_another_engine_version_is_not_computed(slot: Slot, tmp_path: Path) -> None:
    message = job(tmp_path, spec())
    message["launched"]["hash"] = "0" * 64
    message["launched"]["sources"]["engine_version"] = 99
    slot.start(message)
    event = events_until_end(slot)[-1]
    assert event["reason"].startswith(f"The engine's version is {ENGINE_VERSION}; this run was launched under 99. ")
