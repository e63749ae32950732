import math
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models.functions import Now

from experiments.core.errors import NotAllowedError, StaleLeaseError
from experiments.models import (
    Attempt,
    AuditEntry,
    Metric,
    Outcome,
    Round,
    Run,
    RunState,
    User,
    Worker,
)
from experiments.queue.selectors.workers import idle_workers
from experiments.queue.services.claim import run_claim, runs_reap
from experiments.queue.services.leases import (
    Claim,
    Instructions,
    attempt_note,
    checkpoint_record,
    lose_runs,
    rounds_record,
    run_crash,
    run_fail,
    run_finish,
    run_heartbeat,
    run_release,
    start_record,
)
from experiments.queue.services.workers import worker_beat, worker_drain, worker_enlist, workers_forget
from tests.experiments.queue.claims import Block, claimed, launch
from workers.engine.records import RoundRecord


@pytest.fixture
def claim(owner: User, worker: Worker, block: Block) -> Claim:
    launch(owner, {**block, "strategy": {"name": "fedavg"}, "seeds": 1})
    return claimed(worker)


def the_run() -> Run:
    return Run.objects.get()


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
        lambda: start_record(claim=zombie, engine="cohort", device_type="cpu"),
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
    assert run.provenance == {"seconds": 1.5, "odd": "Infinity", "launched_with": claim.sources}
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
    checkpoint_record(claim=second, path="/home/again-10", round_number=10)
    run_crash(claim=second, reason="Killed.")
    third = claimed(worker)
    assert third.resume == ("/home/again-10", "/home/round-10")
    run_crash(claim=third, reason="Killed.")
    assert (the_run().state, the_run().reason) == (RunState.FAILED, "Killed. Given up after 3 attempts.")
    assert Counter(Attempt.objects.values_list("outcome", flat=True)) == {Outcome.CRASHED: 3}


def test_crashes_are_forgiven_where_a_run_gets_further(claim: Claim, worker: Worker) -> None:
    run_crash(claim=claim, reason="Killed.")
    second = claimed(worker)
    checkpoint_record(claim=second, path="/home/round-10", round_number=10)
    assert the_run().crashes == 0
    run_crash(claim=second, reason="Killed.")
    run_crash(claim=claimed(worker), reason="Killed.")
    fourth = claimed(worker)
    checkpoint_record(claim=fourth, path="/home/round-20", round_number=20)
    run_crash(claim=fourth, reason="Killed.")
    assert (the_run().state, the_run().crashes) == (RunState.QUEUED, 1)


def test_a_released_run_goes_back_without_counting_as_a_crash(claim: Claim, worker: Worker) -> None:
    for _ in range(5):
        run_release(claim=claim)
        claim = claimed(worker)
    assert claim.attempt == 6
    assert the_run().crashes == 0


def test_the_engine_that_was_chosen_first_is_kept(claim: Claim, worker: Worker) -> None:
    assert claim.engine == "auto"
    start_record(claim=claim, engine="cohort", device_type="cpu")
    run_release(claim=claim)
    second = claimed(worker)
    assert second.engine == "cohort"
    start_record(claim=second, engine="sequential", device_type="cpu")
    assert the_run().engine == "cohort"


def test_a_run_whose_lease_ran_out_is_given_to_another(claim: Claim, worker: Worker) -> None:
    assert runs_reap() == 0
    Run.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert runs_reap() == 1
    assert the_run().state == RunState.QUEUED
    assert claimed(worker).token != claim.token
    with pytest.raises(StaleLeaseError):
        run_heartbeat(claim=claim)
    assert Attempt.objects.earliest("number").outcome == Outcome.LOST


def test_a_lost_run_that_was_to_be_cancelled_is_cancelled(claim: Claim) -> None:
    Run.objects.update(cancel_requested=True)
    lose_runs(Run.objects.all(), "Gone.")
    assert the_run().state == RunState.CANCELLED


def test_a_heartbeat_extends_the_lease_and_brings_instructions(claim: Claim, worker: Worker, admin: User) -> None:
    Run.objects.update(lease_until=Now())
    assert run_heartbeat(claim=claim) == Instructions(cancel=False, drain=False)
    assert runs_reap() == 0
    Run.objects.update(cancel_requested=True)
    worker_drain(worker=worker, actor=admin)
    assert run_heartbeat(claim=claim) == Instructions(cancel=True, drain=True)


def test_a_draining_worker_gets_nothing(owner: User, worker: Worker, admin: User, stranger: User, block: Block) -> None:
    launch(owner, block)
    with pytest.raises(NotAllowedError):
        worker_drain(worker=worker, actor=stranger)
    worker_drain(worker=worker, actor=admin)
    assert run_claim(worker=worker) is None
    assert idle_workers() == []
    worker_drain(worker=worker, actor=admin, draining=False)
    assert run_claim(worker=worker) is not None
    assert list(
        AuditEntry.objects.filter(actor=admin).order_by("pk").values_list("actor_name", "action", "subject")
    ) == [
        ("boss", "worker.drain", "worker worker-1@lab"),
        ("boss", "worker.resume", "worker worker-1@lab"),
    ]


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


def test_what_is_noted_of_an_attempt_stays_however_it_ends(claim: Claim, worker: Worker) -> None:
    attempt_note(claim=claim, text="It goes on from an older checkpoint. The newest is damaged.")
    run_crash(claim=claim, reason="The run's process was killed by SIGKILL.")
    second = claimed(worker)
    attempt_note(claim=second, text="It goes on from an older checkpoint.")
    run_finish(claim=second, provenance={})
    assert list(Attempt.objects.order_by("number").values_list("reason", flat=True)) == [
        "It goes on from an older checkpoint. The newest is damaged.\nThe run's process was killed by SIGKILL.",
        "It goes on from an older checkpoint.",
    ]
    with pytest.raises(StaleLeaseError):
        attempt_note(claim=second, text="Too late")
