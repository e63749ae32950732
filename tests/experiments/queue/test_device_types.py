"""A run stays on the type of device it began on: claims, reuse, retries, and what happens where the type has gone."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client

from experiments.models import Attempt, Metric, Outcome, Run, RunState, User, Worker
from experiments.queue.selectors.queue import QueueFilters, queue_rows
from experiments.queue.services import scheduler
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import (
    Claim,
    checkpoint_record,
    rounds_record,
    run_fail,
    run_finish,
    run_lose_device,
    run_release,
    start_record,
)
from experiments.queue.services.retry import run_retry
from experiments.queue.services.wake_up import workers_to_wake
from experiments.queue.services.workers import worker_enlist, worker_leave, worker_withdraw
from experiments.studies.services.changes import study_retry
from experiments.studies.services.launch import study_plan
from tests.experiments.queue.claims import Block, claimed, launch
from workers.engine.records import RoundRecord


@pytest.fixture
def one(block: Block) -> Block:
    return {**block, "strategy": {"name": "fedavg"}, "seeds": 1}


@pytest.fixture
def gpu(db: None) -> Worker:
    return enlist("gpu-0@lab", "cuda:0")


def enlist(name: str, device: str) -> Worker:
    return worker_enlist(name=name, host="lab", device=device, threads=1)


def begin(worker: Worker) -> Claim:
    """Takes a run as far as its first checkpoint."""
    claim = claimed(worker)
    start_record(claim=claim, engine="cohort", device_type=worker.device_type)
    rounds_record(claim=claim, records=[RoundRecord(0, {"loss": 2.0}), RoundRecord(1, {"loss": 1.0})])
    checkpoint_record(claim=claim, path="/home/round-1", round_number=1)
    return claim


def finish(worker: Worker) -> None:
    run_finish(claim=begin(worker), provenance={"device": worker.device})


def test_what_began_on_a_gpu_goes_on_on_a_gpu(owner: User, one: Block, worker: Worker, gpu: Worker) -> None:
    launch(owner, one)
    run_release(claim=begin(gpu))

    assert run_claim(worker=worker) is None
    assert workers_to_wake([worker, gpu])[0] == gpu
    assert claimed(enlist("gpu-1@lab", "cuda:1")).resume == ("/home/round-1",)


def test_what_began_on_a_cpu_goes_on_on_a_cpu(owner: User, one: Block, worker: Worker, gpu: Worker) -> None:
    launch(owner, one)
    run_release(claim=begin(worker))

    assert run_claim(worker=gpu) is None
    assert claimed(worker).resume == ("/home/round-1",)
    assert Run.objects.get().device_type == "cpu"


def test_the_type_of_the_first_start_is_kept(owner: User, one: Block, gpu: Worker) -> None:
    launch(owner, one)
    claim = begin(gpu)
    start_record(claim=claim, engine="sequential", device_type="cpu")
    assert (Run.objects.get().engine, Run.objects.get().device_type) == ("cohort", "cuda")


def test_a_study_for_gpus_reuses_what_a_gpu_computed_and_nothing_else(
    owner: User, one: Block, worker: Worker, gpu: Worker
) -> None:
    slow = launch(owner, one)
    finish(worker)
    assert study_plan(owner=owner, blocks=[one], requires="gpu").reused == 0
    fast = launch(owner, one, requires="gpu")
    assert fast.runs.get() != slow.runs.get()
    finish(gpu)
    assert set(Run.objects.values_list("state", "requires", "device_type")) == {
        ("done", "cpu", "cpu"),
        ("done", "gpu", "cuda"),
    }
    assert launch(owner, one, requires="gpu").runs.get() == fast.runs.get()
    assert launch(owner, one).runs.get() == slow.runs.get()


def test_a_study_for_gpus_reuses_a_run_that_a_gpu_happened_to_compute(owner: User, one: Block, gpu: Worker) -> None:
    by_chance = launch(owner, one)
    finish(gpu)
    assert launch(owner, one, requires="gpu").runs.get() == by_chance.runs.get()


def test_a_run_that_waits_for_any_worker_is_not_one_that_waits_for_a_gpu(
    owner: User, one: Block, worker: Worker, gpu: Worker
) -> None:
    anywhere, fast = launch(owner, one), launch(owner, one, requires="gpu")
    assert claimed(worker).run == anywhere.runs.get().pk
    assert run_claim(worker=worker) is None
    assert claimed(gpu).run == fast.runs.get().pk


def test_a_study_for_any_worker_waits_with_a_run_that_a_gpu_is_to_compute(
    owner: User, one: Block, worker: Worker
) -> None:
    """Before, a CPU took it for the second study, and the first one had numbers of a CPU."""
    fast = launch(owner, one, requires="gpu")
    assert launch(owner, one).runs.get() == fast.runs.get()
    assert run_claim(worker=worker) is None
    assert [row.place for row in queue_rows(QueueFilters())] == [None]


def test_a_retry_takes_the_place_of_no_run_on_another_type(
    owner: User, one: Block, worker: Worker, gpu: Worker
) -> None:
    fast = launch(owner, one, requires="gpu")
    run_fail(claim=begin(gpu), reason="No.")
    slow = launch(owner, one)
    finish(worker)
    assert study_retry(study=fast, actor=owner) == 1
    assert (fast.runs.get().state, fast.runs.get() == slow.runs.get()) == (RunState.QUEUED, False)
    assert claimed(gpu).resume == ("/home/round-1",)


def test_after_an_accelerators_error_another_worker_has_the_first_turn(owner: User, one: Block, gpu: Worker) -> None:
    launch(owner, one)
    other = enlist("gpu-1@lab", "cuda:1")
    run_lose_device(claim=begin(gpu), reason="CUDA error: unspecified launch failure")

    assert run_claim(worker=gpu) is None
    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.reason) == (Outcome.ACCELERATOR, "CUDA error: unspecified launch failure")
    assert (claimed(other).attempt, Run.objects.get().crashes) == (2, 1)


def test_where_no_other_worker_comes_it_tries_again_itself_after_a_minute(owner: User, one: Block, gpu: Worker) -> None:
    launch(owner, one)
    enlist("gpu-1@lab", "cuda:1")
    run_lose_device(claim=begin(gpu), reason="CUDA error")
    assert run_claim(worker=gpu) is None
    Attempt.objects.update(ended=Now() - timedelta(seconds=61))
    assert claimed(gpu).attempt == 2


def test_the_only_gpu_tries_again_at_once_but_three_times_at_most(owner: User, one: Block, gpu: Worker) -> None:
    launch(owner, one)
    run_lose_device(claim=begin(gpu), reason="CUDA error.")
    for _ in range(2):
        run_lose_device(claim=claimed(gpu), reason="CUDA error.")
    run = Run.objects.get()
    assert (run.state, run.reason) == (RunState.FAILED, "CUDA error. Given up after 3 attempts.")
    assert run_claim(worker=gpu) is None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The scheduler's, in seconds."""
    now = [1000.0]
    monkeypatch.setattr(scheduler.time, "monotonic", lambda: now[0])
    return now


def stranded(owner: User, one: Block, gpu: Worker) -> Run:
    launch(owner, one)
    run_release(claim=begin(gpu))
    worker_leave(worker=gpu)
    return Run.objects.get()


def test_where_the_type_has_gone_for_good_the_run_starts_anew_and_says_so(
    owner: User, one: Block, worker: Worker, gpu: Worker, clock: list[float]
) -> None:
    run, leader = stranded(owner, one, gpu), scheduler.Scheduler()
    assert [row.place for row in queue_rows(QueueFilters())] == [None]
    for clock[0] in (1000.0, 1599.0):
        leader.restart_stranded_runs()
        assert run_claim(worker=worker) is None
    clock[0] = 1600.0
    leader.restart_stranded_runs()

    run.refresh_from_db()
    assert (run.device_type, run.engine, run.rounds_done, Metric.objects.count()) == ("", "", 0, 0)
    note = "No worker with a cuda device is left: the run starts anew on another."
    assert Attempt.objects.get().reason == f"Its worker was asked to leave.\n{note}"
    assert claimed(worker).resume == ()


def test_a_type_that_comes_back_in_time_keeps_its_runs(
    owner: User, one: Block, gpu: Worker, clock: list[float]
) -> None:
    stranded(owner, one, gpu)
    leader = scheduler.Scheduler()
    leader.restart_stranded_runs()
    back = enlist("gpu-0@lab", "cuda:0")
    clock[0] = 1300.0
    leader.restart_stranded_runs()
    worker_leave(worker=back)
    clock[0] = 1700.0
    leader.restart_stranded_runs()
    assert Run.objects.get().device_type == "cuda"


def test_a_broken_gpu_counts_as_gone(owner: User, one: Block, gpu: Worker, clock: list[float]) -> None:
    launch(owner, one)
    run_release(claim=begin(gpu))
    worker_withdraw(worker=gpu, reason="It has fallen off the bus.")
    leader = scheduler.Scheduler()
    leader.restart_stranded_runs()
    clock[0] = 1600.0
    leader.restart_stranded_runs()
    assert Run.objects.get().device_type == ""


def test_what_requires_a_gpu_waits_for_one_however_long(
    owner: User, one: Block, gpu: Worker, clock: list[float]
) -> None:
    launch(owner, one, requires="gpu")
    run_release(claim=begin(gpu))
    worker_leave(worker=gpu)
    leader = scheduler.Scheduler()
    leader.restart_stranded_runs()
    clock[0] = 9999.0
    leader.restart_stranded_runs()
    assert Run.objects.get().device_type == "cuda"


def test_a_retry_goes_on_where_the_run_began(owner: User, one: Block, worker: Worker, gpu: Worker) -> None:
    launch(owner, one)
    run_fail(claim=begin(gpu), reason="No.")
    assert run_retry(run=Run.objects.get(), actor=owner).device_type == "cuda"
    assert run_claim(worker=worker) is None


def test_page_and_rest_tell_the_type(owner: User, one: Block, gpu: Worker, mine: Client) -> None:
    run = launch(owner, one).runs.get()
    assert "that of the worker that starts it" in mine.get(f"/runs/{run.pk}").content.decode()
    assert mine.get(f"/api/v1/runs/{run.pk}").json()["device_type"] == ""
    begin(gpu)
    assert "<dt>Device type</dt><dd>cuda</dd>" in mine.get(f"/runs/{run.pk}").content.decode()
    assert mine.get(f"/api/v1/runs/{run.pk}").json()["device_type"] == "cuda"


def test_older_runs_are_of_the_type_their_provenance_or_their_worker_tells(
    owner: User, one: Block, block: Block, worker: Worker, gpu: Worker
) -> None:
    launch(owner, one, requires="gpu")
    finish(gpu)
    launch(owner, {**block, "rounds": 7})
    run_release(claim=begin(gpu))
    finish(worker)
    Run.objects.update(device_type="", requires="cpu")
    Run.objects.filter(provenance__device="cpu").update(provenance={})
    launch(owner, {**one, "rounds": 9}, requires="gpu")
    Run.objects.filter(rounds_total=9).update(requires="cpu")

    migration = import_module("experiments.migrations.0007_device_type")
    with connection.cursor() as cursor:
        cursor.execute(migration.DEVICE_TYPES)
        cursor.execute(migration.REQUIREMENTS)

    types = Run.objects.order_by("pk").values_list("state", "requires", "device_type")
    assert list(types) == [
        ("done", "gpu", "cuda"),
        ("queued", "cpu", "cuda"),
        ("done", "cpu", "cpu"),
        ("queued", "cpu", ""),
        ("queued", "cpu", ""),
        ("queued", "gpu", ""),
    ]
