"""Who gets which run: order, fair share, devices, and workers that race."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event

import pytest
from django.db import connection

from experiments.core.errors import StaleLeaseError
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import Membership, Run, RunState, User, Worker
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import run_fail, run_finish, run_release
from experiments.queue.services.workers import worker_enlist
from experiments.studies.services.changes import study_cancel
from experiments.studies.services.deletion import study_delete
from tests.experiments.queue.claims import Block, claimed, launch


def claim_next(worker: Worker) -> tuple[str, int]:
    claim = claimed(worker)
    return claim.spec["strategy"]["name"], claim.spec["seed"]


def test_runs_are_taken_in_the_order_of_the_grid(owner: User, worker: Worker, block: Block) -> None:
    launch(owner, block)
    assert [claim_next(worker) for _ in range(4)] == [("fedavg", 0), ("fedavg", 1), ("fedprox", 0), ("fedprox", 1)]
    assert run_claim(worker=worker) is None


def test_a_higher_priority_goes_first(owner: User, worker: Worker, block: Block) -> None:
    launch(owner, block)
    launch(owner, {**block, "rounds": 7}, priority=1)
    assert claimed(worker).spec["rounds"] == 7


def test_people_take_turns(owner: User, stranger: User, worker: Worker, block: Block) -> None:
    mine = launch(owner, {**block, "seeds": 50})
    theirs = launch(stranger, {**block, "rounds": 7})
    claims = [claimed(worker).run for _ in range(6)]
    assert mine.runs.filter(pk__in=claims).count() == 3
    assert theirs.runs.filter(pk__in=claims).count() == 3


def test_on_a_single_worker_a_large_grid_lets_a_colleagues_runs_through(
    owner: User, stranger: User, worker: Worker, block: Block
) -> None:
    launch(owner, {**block, "seeds": 50})
    theirs = launch(stranger, {**block, "rounds": 7, "strategy": {"name": "fedavg"}, "seeds": 3})
    rounds = []
    for _ in range(8):
        claim = claimed(worker)
        rounds.append(claim.spec["rounds"])
        run_finish(claim=claim, provenance={})
    assert rounds == [3, 7, 3, 7, 3, 7, 3, 3]
    assert not theirs.runs.exclude(state=RunState.DONE).exists()


def test_what_a_cancelled_study_still_holds_costs_its_owner_nothing(
    owner: User, stranger: User, worker: Worker, block: Block
) -> None:
    mine = launch(owner, {**block, "seeds": 3})
    launch(stranger, {**block, "seeds": 3})
    shared = [claimed(worker).run for _ in range(4)]
    study_cancel(study=mine, actor=owner)
    assert Run.objects.filter(pk__in=shared, state=RunState.RUNNING, cancel_requested=False).count() == 4
    launch(owner, {**block, "rounds": 7})
    assert [claimed(worker).spec["rounds"] for _ in range(3)] == [7, 7, 7]


def waiting() -> list[tuple[int, bool]]:
    return list(Membership.objects.order_by("study", "position").values_list("study", "waiting"))


def test_memberships_know_whether_their_run_waits(owner: User, stranger: User, worker: Worker, block: Block) -> None:
    one = {**block, "strategy": {"name": "fedavg"}}
    mine = launch(owner, one)
    assert waiting() == [(mine.pk, True), (mine.pk, True)]
    claim = claimed(worker)
    assert waiting() == [(mine.pk, False), (mine.pk, True)]
    theirs = launch(stranger, one)
    assert waiting() == [(mine.pk, False), (mine.pk, True), (theirs.pk, False), (theirs.pk, True)]
    run_release(claim=claim)
    assert [each for _, each in waiting()] == [True, True, True, True]
    study_cancel(study=mine, actor=owner)
    study_cancel(study=theirs, actor=stranger)
    assert [each for _, each in waiting()] == [False, False, False, False]


def test_what_needs_a_gpu_waits_for_one(owner: User, worker: Worker, block: Block) -> None:
    launch(owner, block, requires="gpu")
    assert run_claim(worker=worker) is None
    fast = worker_enlist(name="gpu@lab", host="lab", device="cuda:0", threads=1)
    assert run_claim(worker=fast) is not None


def test_a_gpu_worker_prefers_what_needs_it_but_takes_anything(owner: User, block: Block) -> None:
    fast = worker_enlist(name="gpu@lab", host="lab", device="cuda:0", threads=1)
    launch(owner, {**block, "seeds": 1})
    launch(owner, {**block, "rounds": 7, "seeds": 1}, requires="gpu")
    assert [claimed(fast).spec["rounds"] for _ in range(4)] == [7, 7, 3, 3]


@pytest.mark.django_db(transaction=True)
def test_workers_that_race_never_get_the_same_run(owner: User, block: Block, redis_url: str) -> None:
    launch(owner, {**block, "seeds": 10})
    racers = [worker_enlist(name=f"{each}@lab", host="lab", device="cpu", threads=1) for each in range(4)]

    def take_all(worker: Worker) -> list[int]:
        runs = []
        while claim := run_claim(worker=worker):
            runs.append(claim.run)
        connection.close()
        return runs

    with ThreadPoolExecutor(4) as pool:
        runs = [run for taken in pool.map(take_all, racers) for run in taken]
    assert sorted(runs) == sorted(Run.objects.values_list("pk", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_study_is_deleted_while_workers_take_its_runs(owner: User, block: Block, redis_url: str) -> None:
    study = launch(owner, {**block, "seeds": 60})
    other = launch(owner, {**block, "seeds": 10})
    racers = [worker_enlist(name=f"{each}@lab", host="lab", device="cpu", threads=1) for each in range(3)]
    begun = Event()

    def take_all(worker: Worker) -> None:
        while claim := run_claim(worker=worker):
            begun.set()
            run_fail(claim=claim, reason="Enough.") if claim.run % 2 else run_finish(claim=claim, provenance={})
        connection.close()

    with ThreadPoolExecutor(3) as pool:
        racing = [pool.submit(take_all, worker) for worker in racers]
        begun.wait(60)
        study_delete(study=study, actor=owner)
        for each in racing:
            with suppress(StaleLeaseError):
                each.result(60)
        jobs_carry_out()
    assert Run.objects.count() == other.runs.count() == 20
