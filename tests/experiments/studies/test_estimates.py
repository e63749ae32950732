"""How long a study takes: literal numbers of done runs in, literal seconds out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache

from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import Attempt, Run, RunState, Study, User, Worker
from experiments.studies.selectors.run_timings import run_timings
from experiments.studies.services.calibration import calibration_key, calibration_request, save_step, saved_step
from experiments.studies.services.estimates import Estimate, SpeedModel, expected_device_type, planned_cells
from experiments.studies.services.launch import study_launch, study_plan
from tests.experiments import lab
from workers.spec import RunSpec, expand, parse_run

ROUNDS = 2
STEPS = 3 * 15
"""Digits has 1,437 samples: three clients have 479 each, 15 batches of 32."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))
    cache.clear()
    yield tmp_path
    cache.clear()


def finished(run: Run, *, step: float = 0.01, **more: float) -> Run:
    """Took 30 s, of which each of its two rounds: `step` seconds a local step, and one second besides."""
    train = step * STEPS
    metrics = {"seconds": train + 1, "seconds_train": train, "local_steps": STEPS, "bytes_up": 7800, "bytes_down": 7800}
    return lab.record(run, {name: [0.0, value, value] for name, value in {**metrics, **more}.items()})


def measured(owner: User, *steps: float, **changes: Any) -> None:
    study = lab.launched(owner, "Before", strategy={"name": "fedavg"}, seeds=len(steps), **changes)
    for run, step in zip(lab.runs_in_order(study), steps, strict=True):
        finished(run, step=step)


def spec(**changes: Any) -> RunSpec:
    base = {key: value for key, value in lab.BLOCK.items() if key != "seeds"}
    return parse_run({**base, "strategy": {"name": "fedavg"}, **changes})


def speeds() -> SpeedModel:
    return SpeedModel(run_timings(datasets=["digits"], models=["logistic"], strategies=["fedavg"]))


def estimate(owner: User, **changes: Any) -> Estimate:
    return study_plan(
        owner=owner, blocks=[{**lab.BLOCK, "strategy": {"name": "fedavg"}, "seeds": [99], **changes}]
    ).estimate


def test_runs_like_these_foretell_their_time(owner: User) -> None:
    """A run: 90 steps of 0.01 s, 2 s besides, and 27.1 s outside of its rounds; minus 15 and plus 20 per cent."""
    measured(owner, 0.01)
    result = estimate(owner)
    assert (result.basis, result.workers) == ("measured", 0)
    assert result.low_seconds == pytest.approx(0.85 * 30, abs=0.06)
    assert result.high_seconds == pytest.approx(1.2 * 30, abs=0.06)


def test_a_run_that_was_resumed_took_what_its_attempts_took(owner: User) -> None:
    """10 s and 5 s, with an hour between them."""
    measured(owner, 0.01)
    run = Run.objects.get()
    for number, begin, seconds in ((1, lab.NOON - timedelta(hours=1), 10), (2, lab.NOON, 5)):
        end = begin + timedelta(seconds=seconds)
        Attempt.objects.create(run=run, number=number, token=uuid4(), worker="w", started=begin, ended=end)
    assert estimate(owner).high_seconds == pytest.approx(1.2 * 15, abs=0.06)


def test_twice_the_rounds_are_twice_the_rounds_time(owner: User) -> None:
    measured(owner, 0.01)
    assert estimate(owner, rounds=2 * ROUNDS).high_seconds == pytest.approx(1.2 * (30 + 2.9), abs=0.06)


def test_the_range_is_from_the_quicker_to_the_slower_runs(owner: User) -> None:
    measured(owner, 0.01, 0.02, 0.03)
    _, step = speeds().step_seconds(spec())
    assert (step.low, step.high) == (pytest.approx(0.01), pytest.approx(0.03))


def test_the_closest_runs_speak(owner: User) -> None:
    measured(owner, 0.01)
    measured(owner, 0.05, local={"batch_size": 64})
    model = speeds()
    assert model.step_seconds(spec())[1].high == pytest.approx(0.01)
    assert model.step_seconds(spec(local={"batch_size": 64}))[1].high == pytest.approx(0.05)


def test_another_batch_size_costs_between_as_much_a_step_and_as_much_a_sample(owner: User) -> None:
    measured(owner, 0.01)
    _, step = speeds().step_seconds(spec(local={"batch_size": 128}))
    assert (step.low, step.high) == (pytest.approx(0.01), pytest.approx(0.04))


def test_workers_share_the_runs_but_no_run_is_cut_in_two(owner: User, worker: Worker) -> None:
    from experiments.queue.services.workers import worker_enlist

    worker_enlist(name="worker-2@lab", host="lab", device="cpu", threads=1)
    measured(owner, 0.01)
    one, four = estimate(owner), estimate(owner, seeds=[90, 91, 92, 93])
    assert (one.workers, four.workers) == (2, 2)
    assert one.high_seconds == pytest.approx(36, abs=0.1)
    assert four.high_seconds == pytest.approx(72, abs=0.1)


def test_a_study_for_gpus_counts_only_workers_that_have_one(owner: User, worker: Worker) -> None:
    block = {**lab.BLOCK, "seeds": [99]}
    assert study_plan(owner=owner, blocks=[block], requires="gpu").estimate.workers == 0
    assert study_plan(owner=owner, blocks=[block]).estimate.workers == 1


def test_only_runs_on_the_same_type_of_device_foretell_the_time(owner: User, home: Path) -> None:
    """0.01 s a step on a CPU, 0.001 s on a GPU."""
    measured(owner, 0.01)
    measured(owner, 0.001, rounds=4)
    Run.objects.filter(rounds_total=4).update(device_type="cuda")
    on_cpu, on_gpu = (
        SpeedModel(run_timings(datasets=["digits"], models=["logistic"], strategies=["fedavg"]), device)
        for device in ("cpu", "cuda")
    )
    assert on_cpu.step_seconds(spec())[1].high == pytest.approx(0.01)
    assert on_gpu.step_seconds(spec())[1].high == pytest.approx(0.001)
    assert estimate(owner).high_seconds == pytest.approx(36, abs=0.1)


def test_the_type_of_device_is_that_of_the_workers_that_may_take_the_study(db: None) -> None:
    from experiments.queue.services.workers import worker_enlist

    def types() -> tuple[str, str]:
        return expected_device_type("cpu"), expected_device_type("gpu")

    assert types() == ("cpu", "cuda")
    worker_enlist(name="gpu@lab", host="lab", device="cuda:1", threads=1)
    assert types() == ("cuda", "cuda")
    worker_enlist(name="cpu@lab", host="lab", device="cpu", threads=1)
    assert types() == ("cpu", "cuda")


def test_what_was_tried_on_one_type_of_device_says_nothing_of_another(owner: User, home: Path) -> None:
    """There is no such device here: nothing is measured on a CPU in its place."""
    save_step(calibration_key(spec(), "cpu"), {"step": 0.01})
    assert (saved_step(spec(), "cpu"), saved_step(spec(), "mps")) == (0.01, None)
    assert SpeedModel([], "cpu").step_seconds(spec())[1].basis == "calibrated"
    assert SpeedModel([], "mps").step_seconds(spec())[1].basis == "guessed"
    assert not calibration_request([spec()], "cpu")
    assert calibration_request([spec()], "mps")
    assert jobs_carry_out() == 1
    assert saved_step(spec(), "mps") is None
    assert not calibration_request([spec()], "mps")


def test_what_exists_already_costs_nothing(owner: User) -> None:
    lab.launched(owner)
    plan = study_plan(owner=owner, blocks=[lab.BLOCK])
    assert (plan.reused, plan.estimate.low_seconds, plan.estimate.high_seconds) == (6, 0, 0)


def test_bytes_are_the_models_way_down_and_up(owner: User) -> None:
    """Logistic has 650 values of 4 bytes; 3 clients, 2 rounds, 1 run."""
    block = {**lab.BLOCK, "strategy": {"name": "fedavg"}, "seeds": [99]}
    assert study_plan(owner=owner, blocks=[block]).bytes == 650 * 4 * 2 * 3 * 2


def test_a_strategy_that_sends_more_is_known_by_its_runs(owner: User) -> None:
    study = lab.launched(owner, strategy={"name": "scaffold"}, seeds=1)
    finished(lab.runs_in_order(study)[0], bytes_up=15600, bytes_down=15600)
    block = {**lab.BLOCK, "strategy": {"name": "scaffold"}, "seeds": [99]}
    assert study_plan(owner=owner, blocks=[block]).bytes == 2 * 650 * 4 * 2 * 3 * 2


def test_nothing_alike_is_a_guess_until_it_is_tried(owner: User, home: Path) -> None:
    block = {**lab.BLOCK, "seeds": [99]}
    assert study_plan(owner=owner, blocks=[block]).estimate.basis == "guessed"
    asked = study_plan(owner=owner, blocks=[block], calibrate=True)
    assert (asked.calibrating, asked.estimate.basis) == (True, "guessed")
    assert study_plan(owner=owner, blocks=[block], calibrate=True).calibrating
    assert jobs_carry_out() == 1
    plan = study_plan(owner=owner, blocks=[block], calibrate=True)
    tried = plan.estimate
    assert (plan.calibrating, tried.basis) == (False, "calibrated")
    assert 0 < tried.low_seconds < tried.high_seconds
    assert len(list((home / "pace").glob("*.json"))) == 1
    assert study_plan(owner=owner, blocks=[{**block, "rounds": 5}]).estimate.basis == "calibrated"


def test_where_nothing_can_be_tried_the_guess_stays(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    block = {**lab.BLOCK, "model": {"name": "mlp-50"}, "seeds": [99]}
    assert study_plan(owner=owner, blocks=[block], calibrate=True).calibrating
    assert jobs_carry_out() == 1
    plan = study_plan(owner=owner, blocks=[block], calibrate=True)
    assert (plan.calibrating, plan.estimate.basis) == (False, "guessed")


def test_a_run_of_a_component_that_is_gone_is_no_witness(owner: User) -> None:
    measured(owner, 0.01)
    run = Run.objects.get(state=RunState.DONE)
    run.spec["partition"] = {"name": "gone"}
    run.save()
    assert speeds().references == []


def test_cells_are_counted_once_for_all_their_seeds() -> None:
    cells = planned_cells(expand([lab.BLOCK]).runs)
    assert [(each.strategy.name, count) for each, count in cells] == [("fedprox", 3), ("fedavg", 3)]


def test_what_others_have_queued_is_allowed_for(owner: User, stranger: User) -> None:
    """Alone a run takes 30 s: 25.5 to 36 s. Three like it of somebody else wait: at best they take turns with it."""
    measured(owner, 0.01)
    alone = estimate(owner)
    assert (alone.low_seconds, alone.high_seconds, alone.other_runs) == (25.5, 36.0, 0)
    study = study_launch(
        owner=stranger, name="Waits", blocks=[{**lab.BLOCK, "strategy": {"name": "fedavg"}, "seeds": [7, 8, 9]}]
    )
    beside = estimate(owner)
    assert (beside.low_seconds, beside.high_seconds, beside.other_runs) == (51.0, 144.0, 3)
    behind = estimate(stranger)
    assert (behind.low_seconds, behind.high_seconds) == (102.0, 144.0)
    Study.objects.filter(pk=study.pk).update(paused=True)
    assert estimate(owner) == alone
