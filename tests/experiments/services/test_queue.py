import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models.functions import Now

from experiments.models import Attempt, Membership, Metric, Outcome, Round, Run, RunState, Study, User, Worker
from experiments.services.errors import NotAllowedError, StaleLeaseError
from experiments.services.fleet import idle_workers, worker_beat, worker_drain, worker_enlist, workers_forget
from experiments.services.leases import (
    Claim,
    Wishes,
    checkpoint_record,
    engine_record,
    lose_runs,
    rounds_record,
    run_crash,
    run_fail,
    run_finish,
    run_heartbeat,
    run_release,
)
from experiments.services.queue import reap, run_claim
from experiments.services.studies import study_launch
from experiments.services.study_changes import study_cancel
from workers.engine.records import RoundRecord

Block = dict[str, Any]


def launch(owner: User, block: Block, **more: Any) -> Study:
    return study_launch(owner=owner, name="A study", blocks=[block], **more)


def claimed(worker: Worker) -> Claim:
    claim = run_claim(worker=worker)
    assert claim is not None
    return claim


def taken(worker: Worker) -> tuple[str, int]:
    claim = claimed(worker)
    return claim.spec["strategy"]["name"], claim.spec["seed"]


@pytest.fixture
def claim(owner: User, worker: Worker, block: Block) -> Claim:
    launch(owner, {**block, "strategy": {"name": "fedavg"}, "seeds": 1})
    return claimed(worker)


def the_run() -> Run:
    return Run.objects.get()


def test_runs_are_taken_in_the_order_of_the_grid(owner: User, worker: Worker, block: Block) -> None:
    launch(owner, block)
    assert [taken(worker) for _ in range(4)] == [("fedavg", 0), ("fedavg", 1), ("fedprox", 0), ("fedprox", 1)]
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
        taken = []
        while claim := run_claim(worker=worker):
            taken.append(claim.run)
        connection.close()
        return taken

    with ThreadPoolExecutor(4) as pool:
        runs = [run for taken in pool.map(take_all, racers) for run in taken]
    assert sorted(runs) == sorted(Run.objects.values_list("pk", flat=True))


def test_a_claim_starts_an_attempt_with_a_lease(claim: Claim, worker: Worker) -> None:
    run = the_run()
    assert (run.state, run.lease_token, run.worker) == (RunState.RUNNING, claim.token, worker)
    assert run.lease_until
    assert run.started
    assert run.lease_until - run.started == timedelta(seconds=30)
    attempt = Attempt.objects.get()
    assert (attempt.number, attempt.token, attempt.worker, attempt.outcome) == (1, claim.token, "worker-1@lab", "")


def test_rounds_are_kept_exactly_once_however_often_they_are_told(claim: Claim) -> None:
    first = RoundRecord(0, {"accuracy": 0.1, "recall.3": 0.5})
    second = RoundRecord(1, {"accuracy": 0.2}, (0, 4), {0: {"samples": 72.0}})
    rounds_record(claim=claim, records=[first, second])
    rounds_record(claim=claim, records=[second])
    assert the_run().rounds_done == 1
    assert list(Metric.objects.order_by("round", "name").values_list("round", "name", "value")) == [
        (0, "accuracy", 0.1),
        (0, "recall.3", 0.5),
        (1, "accuracy", 0.2),
    ]
    assert list(Round.objects.order_by("round").values_list("round", "cohort", "clients")) == [
        (0, [], {}),
        (1, [0, 4], {"0": {"samples": 72.0}}),
    ]


def test_not_a_number_and_infinity_are_kept(claim: Claim) -> None:
    lost = {7: {"train_loss": math.nan}}
    rounds_record(claim=claim, records=[RoundRecord(1, {"loss": math.nan, "train_loss": math.inf}, (7,), lost)])
    values = dict(Metric.objects.values_list("name", "value"))
    assert math.isnan(values["loss"])
    assert values["train_loss"] == math.inf
    assert Round.objects.get().clients == {"7": {"train_loss": "NaN"}}


def test_a_stale_token_is_refused_everywhere(claim: Claim) -> None:
    zombie = replace(claim, token=uuid4())
    writes: list[Any] = [
        lambda: run_heartbeat(claim=zombie),
        lambda: rounds_record(claim=zombie, records=[RoundRecord(0, {"accuracy": 0.9})]),
        lambda: engine_record(claim=zombie, engine="cohort"),
        lambda: checkpoint_record(claim=zombie, path="/nowhere", round_number=1),
        lambda: run_finish(claim=zombie, provenance={}),
        lambda: run_fail(claim=zombie, reason="No."),
        lambda: run_crash(claim=zombie, reason="No."),
        lambda: run_release(claim=zombie),
    ]
    for write in writes:
        with pytest.raises(StaleLeaseError):
            write()
    assert not Metric.objects.exists()
    assert the_run().lease_token == claim.token


def test_a_finished_run_is_done_and_its_token_stale(claim: Claim) -> None:
    run_finish(claim=claim, provenance={"seconds": 1.5, "odd": math.inf}, artifact="runs/1/model")
    run = the_run()
    assert (run.state, run.artifact, run.lease_token, run.worker) == (RunState.DONE, "runs/1/model", None, None)
    assert run.provenance == {"seconds": 1.5, "odd": "Infinity"}
    assert run.finished
    assert Attempt.objects.get().outcome == Outcome.DONE
    with pytest.raises(StaleLeaseError):
        run_heartbeat(claim=claim)


def test_a_failed_run_tells_why_and_is_not_tried_again(claim: Claim, worker: Worker) -> None:
    run_fail(claim=claim, reason="ValueError: a\0b")
    assert (the_run().state, the_run().reason) == (RunState.FAILED, "ValueError: a\N{REPLACEMENT CHARACTER}b")
    assert run_claim(worker=worker) is None


def test_a_crash_is_tried_again_from_its_checkpoint_three_times(claim: Claim, worker: Worker) -> None:
    checkpoint_record(claim=claim, path="/home/round-10", round_number=10)
    run_crash(claim=claim, reason="Killed.")
    second = claimed(worker)
    assert (second.run, second.attempt, second.resume) == (claim.run, 2, ("/home/round-10",))
    checkpoint_record(claim=second, path="/home/round-20", round_number=20)
    run_crash(claim=second, reason="Killed.")
    third = claimed(worker)
    assert third.resume == ("/home/round-20", "/home/round-10")
    run_crash(claim=third, reason="Killed.")
    assert (the_run().state, the_run().reason) == (RunState.FAILED, "Killed. Given up after 3 attempts.")
    assert Counter(Attempt.objects.values_list("outcome", flat=True)) == {Outcome.CRASHED: 3}


def test_a_released_run_goes_back_without_counting_as_a_crash(claim: Claim, worker: Worker) -> None:
    for _ in range(5):
        run_release(claim=claim)
        claim = claimed(worker)
    assert claim.attempt == 6
    assert the_run().crashes == 0


def test_the_engine_that_was_chosen_first_is_kept(claim: Claim, worker: Worker) -> None:
    assert claim.engine == "auto"
    engine_record(claim=claim, engine="cohort")
    run_release(claim=claim)
    second = claimed(worker)
    assert second.engine == "cohort"
    engine_record(claim=second, engine="sequential")
    assert the_run().engine == "cohort"


def test_a_run_whose_lease_ran_out_is_given_to_another(claim: Claim, worker: Worker) -> None:
    assert reap() == 0
    Run.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert reap() == 1
    assert the_run().state == RunState.QUEUED
    assert claimed(worker).token != claim.token
    with pytest.raises(StaleLeaseError):
        run_heartbeat(claim=claim)
    assert Attempt.objects.earliest("number").outcome == Outcome.LOST


def test_a_lost_run_that_was_to_be_cancelled_is_cancelled(claim: Claim) -> None:
    Run.objects.update(cancel_requested=True)
    lose_runs(Run.objects.all(), "Gone.")
    assert the_run().state == RunState.CANCELLED


def test_a_heartbeat_extends_the_lease_and_brings_wishes(claim: Claim, worker: Worker, admin: User) -> None:
    Run.objects.update(lease_until=Now())
    assert run_heartbeat(claim=claim) == Wishes(cancel=False, drain=False)
    assert reap() == 0
    Run.objects.update(cancel_requested=True)
    worker_drain(worker=worker, actor=admin)
    assert run_heartbeat(claim=claim) == Wishes(cancel=True, drain=True)


def test_a_draining_worker_gets_nothing(owner: User, worker: Worker, admin: User, stranger: User, block: Block) -> None:
    launch(owner, block)
    with pytest.raises(NotAllowedError):
        worker_drain(worker=worker, actor=stranger)
    worker_drain(worker=worker, actor=admin)
    assert run_claim(worker=worker) is None
    assert idle_workers() == []
    worker_drain(worker=worker, actor=admin, draining=False)
    assert run_claim(worker=worker) is not None


def test_a_worker_that_starts_anew_gives_up_what_it_held(claim: Claim, worker: Worker) -> None:
    again = worker_enlist(name=worker.name, host="lab", device="cpu", threads=1)
    assert again.pk == worker.pk
    assert the_run().state == RunState.QUEUED


def test_idle_workers_are_alive_and_without_a_run(claim: Claim, worker: Worker) -> None:
    idle = worker_enlist(name="idle@lab", host="lab", device="cpu", threads=1)
    silent = worker_enlist(name="silent@lab", host="lab", device="cpu", threads=1)
    Worker.objects.filter(pk=silent.pk).update(heartbeat=Now() - timedelta(minutes=1))
    assert idle_workers() == [idle]


def test_workers_silent_for_a_day_are_forgotten(worker: Worker) -> None:
    Worker.objects.update(heartbeat=Now() - timedelta(days=2))
    assert workers_forget() == 1
    assert worker_beat(worker=worker, rounds_per_second=1.0) is False
