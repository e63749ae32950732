"""Short runs that a worker claims before their turn: which, how many, and what becomes of them if it never begins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from experiments.models import Attempt, Run, Study, User, Worker
from experiments.queue.selectors.workers import worker_rows
from experiments.queue.services.claim import run_claim, runs_claim_ahead, runs_reap
from experiments.queue.services.leases import (
    Claim,
    Instructions,
    leases_extend,
    rounds_record,
    run_fail,
    run_finish,
    run_release,
)
from experiments.queue.services.runs import run_cancel
from experiments.queue.services.workers import worker_drain, worker_enlist
from tests.experiments.queue.claims import Block, claimed, launch
from workers.engine.records import RoundRecord


@pytest.fixture
def study(owner: User, block: Block) -> Study:
    """Twelve runs."""
    return launch(owner, {**block, "seeds": 6})


def take_ahead(worker: Worker, study: Study, most: int = 16) -> list[Claim]:
    return runs_claim_ahead(worker=worker, most={study.pk: most})


def seeds(claims: list[Claim]) -> list[tuple[str, int]]:
    return [(each.spec["strategy"]["name"], each.spec["seed"]) for each in claims]


def test_they_are_the_next_of_the_grid_and_each_has_a_lease_and_an_attempt_of_its_own(
    study: Study, worker: Worker
) -> None:
    first = claimed(worker)
    claims = take_ahead(worker, study, 3)
    assert seeds([first, *claims]) == [("fedavg", 0), ("fedavg", 1), ("fedavg", 2), ("fedavg", 3)]
    assert {each.study for each in (first, *claims)} == {study.pk}
    assert len({each.token for each in claims}) == 3
    for claim in claims:
        run = Run.objects.get(pk=claim.run)
        assert (run.state, run.lease_token, run.worker, run.started) == ("running", claim.token, worker, None)
        attempt = Attempt.objects.get(run=run)
        assert (attempt.number, attempt.token, attempt.outcome) == (1, claim.token, "")


def test_a_worker_takes_half_of_its_share_of_what_waits_at_most(study: Study, worker: Worker) -> None:
    assert len(take_ahead(worker, study)) == 6
    assert len(take_ahead(worker, study)) == 3
    worker_enlist(name="other@lab", host="lab", device="cpu", threads=1)
    assert take_ahead(worker, study) == []
    assert run_claim(worker=worker) is not None


def test_with_three_workers_twelve_runs_are_two_ahead_for_each(study: Study, worker: Worker) -> None:
    others = [worker_enlist(name=f"{each}@lab", host="lab", device="cpu", threads=1) for each in range(2)]
    assert [len(take_ahead(each, study)) for each in (worker, *others)] == [2, 1, 1]


def test_nothing_is_taken_ahead_of_a_study_whose_runs_are_not_known_to_be_short(study: Study, worker: Worker) -> None:
    assert runs_claim_ahead(worker=worker, most={}) == []
    assert runs_claim_ahead(worker=worker, most={study.pk + 1: 16}) == []


def test_a_study_of_higher_priority_is_not_passed_by(study: Study, worker: Worker, owner: User, block: Block) -> None:
    launch(owner, {**block, "rounds": 7}, priority=1)
    assert take_ahead(worker, study) == []


def test_where_several_people_wait_they_take_turns_run_by_run(
    study: Study, worker: Worker, stranger: User, block: Block
) -> None:
    theirs = launch(stranger, {**block, "rounds": 7, "seeds": 6})
    most = {study.pk: 16, theirs.pk: 16}
    at_work, rounds = claimed(worker), []
    for _ in range(4):
        (claim,) = runs_claim_ahead(worker=worker, most=most)
        run_finish(claim=at_work, provenance={})
        rounds.append(claim.spec["rounds"])
        at_work = claim
    assert rounds == [7, 3, 7, 3]


def test_a_draining_worker_takes_nothing_ahead(study: Study, worker: Worker, admin: User) -> None:
    worker_drain(worker=worker, actor=admin)
    assert take_ahead(worker, study) == []


def test_a_silent_workers_runs_that_had_not_begun_go_back_uncounted_and_wait_for_their_turn_from_then_on(
    study: Study, worker: Worker
) -> None:
    begun, waiting = take_ahead(worker, study, 2)
    rounds_record(claim=begun, records=[RoundRecord(0, {"loss": 1.0})])
    Run.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))
    assert runs_reap() == 2
    crashes = dict(Run.objects.values_list("pk", "crashes"))
    assert (crashes[begun.run], crashes[waiting.run]) == (1, 0)
    outcomes = dict(Attempt.objects.values_list("run", "outcome"))
    assert (outcomes[begun.run], outcomes[waiting.run]) == ("lost", "released")
    assert seeds(take_ahead(worker, study, 2)) == [("fedavg", 2), ("fedavg", 3)]
    again = claimed(worker)
    assert (again.run, again.attempt) == (begun.run, 2)


def test_a_worker_that_starts_anew_gives_back_uncounted_what_it_had_not_begun(study: Study, worker: Worker) -> None:
    take_ahead(worker, study, 2)
    worker_enlist(name=worker.name, host="lab", device="cpu", threads=1)
    assert set(Run.objects.values_list("state", "crashes")) == {("queued", 0)}


def test_a_run_that_was_claimed_ahead_began_when_it_says_so(study: Study, worker: Worker) -> None:
    (claim,) = take_ahead(worker, study, 1)
    Attempt.objects.update(started=Now() - timedelta(hours=1))
    rounds_record(claim=claim, records=[RoundRecord(0, {"loss": 1.0})], running_for=60.0)
    rounds_record(claim=claim, records=[RoundRecord(1, {"loss": 1.0})], running_for=120.0)
    run_finish(claim=claim, provenance={})
    run, attempt = Run.objects.get(pk=claim.run), Attempt.objects.get()
    assert run.started
    assert run.finished
    assert timedelta(seconds=60) < run.finished - run.started < timedelta(seconds=90)
    assert attempt.started == run.started


def test_one_that_fails_before_its_first_round_has_begun_all_the_same(study: Study, worker: Worker) -> None:
    (claim,) = take_ahead(worker, study, 1)
    run_fail(claim=claim, reason="No.")
    run = Run.objects.get(pk=claim.run)
    assert (run.state, run.started) == ("failed", run.finished)


def test_leases_are_extended_in_one_statement_which_says_what_was_cancelled_or_taken_away(
    study: Study, worker: Worker, owner: User, admin: User
) -> None:
    first, second, third = take_ahead(worker, study, 3)
    Run.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))
    run_cancel(run=Run.objects.get(pk=second.run), actor=owner)
    lost = replace(third, token=uuid4())
    with CaptureQueriesContext(connection) as queries:
        answers = leases_extend(claims=[first, second, lost])
    assert len(queries) == 1
    assert answers == {first.token: Instructions(False, False), second.token: Instructions(True, False)}
    assert runs_reap() == 1
    assert Run.objects.get(pk=third.run).state == "queued"
    worker_drain(worker=worker, actor=admin)
    assert leases_extend(claims=[first]) == {first.token: Instructions(False, True)}


def test_one_that_was_cancelled_before_it_began_is_cancelled_when_it_is_given_back(
    study: Study, worker: Worker, owner: User
) -> None:
    first, second = take_ahead(worker, study, 2)
    run_cancel(run=Run.objects.get(pk=first.run), actor=owner)
    for claim in (first, second):
        run_release(claim=claim, reason="Its worker left.")
    assert list(Attempt.objects.order_by("pk").values_list("outcome", "reason")) == [
        ("cancelled", ""),
        ("released", "Its worker left."),
    ]
    assert [Run.objects.get(pk=each.run).state for each in (first, second)] == ["cancelled", "queued"]


def test_a_workers_page_shows_the_run_at_work_and_not_those_that_wait_for_it(study: Study, worker: Worker) -> None:
    waiting = take_ahead(worker, study, 2)
    at_work = claimed(worker)
    assert waiting[0].run < at_work.run
    (row,) = worker_rows()
    assert row.run
    assert row.run.pk == at_work.run


@pytest.mark.django_db(transaction=True)
def test_extending_leases_waits_for_nobody_who_changes_one_of_the_runs(
    study: Study, worker: Worker, redis_url: str
) -> None:
    """Or a study that is cancelled at this moment, whose runs are locked one after another, could deadlock with it."""
    first, second = take_ahead(worker, study, 2)
    Run.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))

    def extend() -> dict[str, bool]:
        answers = leases_extend(claims=[first, second])
        expired = Run.objects.filter(lease_until__lt=Now()).values_list("pk", flat=True)
        late = {"answered": answers.keys() == {first.token, second.token}, "second is late": second.run in expired}
        late["first is late"] = first.run in expired
        connection.close()
        return late

    with transaction.atomic(), ThreadPoolExecutor(1) as other:
        Run.objects.select_for_update().get(pk=second.run)
        assert other.submit(extend).result(20) == {
            "answered": True,
            "second is late": True,
            "first is late": False,
        }
