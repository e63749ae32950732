"""Retrying a run whose data, code or engine changed: its spec is launched as what it is now."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from experiments.core.errors import ConflictError, NotAllowedError
from experiments.models import AuditEntry, Membership, Run, RunState, Study, User, Worker
from experiments.queue.services.bulk import runs_retry
from experiments.queue.services.leases import checkpoint_record, rounds_record, run_fail, run_finish
from experiments.queue.services.retry import run_retry
from experiments.studies.services.changes import study_retry
from experiments.studies.services.launch import study_launch
from tests.experiments.queue.claims import claimed
from workers.engine.records import RoundRecord

Block = dict[str, Any]


def launch(owner: User, block: Block, **more: Any) -> Study:
    return study_launch(owner=owner, name="Own data", blocks=[block], **more)


def fail_next(worker: Worker) -> Run:
    claim = claimed(worker)
    run_fail(claim=claim, reason="The data set own.npz is not the one this run was launched with.")
    return Run.objects.get(pk=claim.run)


def hashes(study: Study) -> list[str]:
    return [member.run.hash for member in Membership.objects.filter(study=study).select_related("run")]


def test_a_claim_carries_the_hash_and_what_the_run_was_launched_with(
    owner: User, worker: Worker, own: Any, own_block: Block
) -> None:
    checksum = own()
    study = launch(owner, own_block)
    claim = claimed(worker)
    assert claim.hash == hashes(study)[0]
    assert claim.sources["data"] == checksum
    assert claim.sources["versions"] == {"dataset": 1, "model": 1, "partition": 1, "strategy": 1, "optimizer": 1}
    run_finish(claim=claim, provenance={"device": "cpu"})
    assert Run.objects.get(pk=claim.run).provenance == {"device": "cpu", "launched_with": claim.sources}


def test_a_study_holds_the_new_runs_in_the_place_of_the_failed_ones(
    owner: User, worker: Worker, own: Any, own_block: Block
) -> None:
    study = launch(owner, own_block)
    before = hashes(study)
    first, second = fail_next(worker), fail_next(worker)
    checksum = own()
    assert study_retry(study=study, actor=owner) == 2
    runs = [member.run for member in Membership.objects.filter(study=study).select_related("run")]
    assert [(run.state, run.seed, run.launch_sources["data"]) for run in runs] == [
        (RunState.QUEUED, 0, checksum),
        (RunState.QUEUED, 1, checksum),
    ]
    assert not set(before) & set(hashes(study))
    assert not Run.objects.filter(pk__in=[first.pk, second.pk]).exists()
    assert AuditEntry.objects.get(action="study.relaunch").detail == {"name": "Own data", "runs": 2}


def test_data_that_are_back_make_it_a_plain_retry(owner: User, worker: Worker, own_block: Block) -> None:
    study = launch(owner, own_block)
    run = fail_next(worker)
    assert run_retry(run=run, actor=owner).pk == run.pk
    assert study.runs.filter(state=RunState.QUEUED).count() == 2


def test_a_run_that_lives_under_the_new_identity_is_taken_instead_of_a_copy(
    owner: User, stranger: User, worker: Worker, own: Any, own_block: Block
) -> None:
    study = launch(owner, {**own_block, "seeds": 1})
    run = fail_next(worker)
    own()
    live = launch(stranger, {**own_block, "seeds": 1}).runs.get()
    again = run_retry(run=run, actor=owner)
    assert (again.pk, study.runs.get().pk) == (live.pk, live.pk)
    assert Membership.objects.get(study=study).reused
    assert Run.objects.count() == 1


def test_only_the_persons_own_studies_move(
    owner: User, stranger: User, worker: Worker, own: Any, own_block: Block
) -> None:
    mine, theirs = launch(owner, {**own_block, "seeds": 1}), launch(stranger, {**own_block, "seeds": 1})
    run = fail_next(worker)
    own()
    again = run_retry(run=run, actor=owner)
    assert (mine.runs.get().pk, theirs.runs.get().pk) == (again.pk, run.pk)
    assert AuditEntry.objects.get(action="run.relaunch").detail == {"successor": again.pk}


def test_a_run_that_is_not_shared_gets_one_of_its_own(owner: User, worker: Worker, own: Any, own_block: Block) -> None:
    study = launch(owner, {**own_block, "seeds": 1}, reuse=False)
    run = fail_next(worker)
    own()
    launch(owner, {**own_block, "seeds": 1})
    again = run_retry(run=run, actor=owner)
    assert (again.shared, study.runs.get().pk) == (False, again.pk)


def test_only_what_ended_badly_is_launched_again(owner: User, stranger: User, own: Any, own_block: Block) -> None:
    run = launch(owner, {**own_block, "seeds": 1}).runs.get()
    own()
    with pytest.raises(ConflictError, match="only failed and cancelled ones can be retried"):
        run_retry(run=run, actor=owner)
    with pytest.raises(NotAllowedError):
        run_retry(run=run, actor=stranger)


def test_many_runs_are_retried_or_launched_again_together(
    owner: User, worker: Worker, own: Any, own_block: Block, block: Block
) -> None:
    changed, same = launch(owner, own_block), launch(owner, {**block, "strategy": {"name": "fedavg"}})
    failed = [fail_next(worker) for _ in range(4)]
    own()
    outcome = runs_retry(runs=[run.pk for run in failed], actor=owner)
    assert (outcome.done, dict(outcome.refused)) == (4, {})
    for study in (changed, same):
        assert list(study.runs.values_list("state", flat=True)) == [RunState.QUEUED] * 2
    assert set(same.runs.values_list("pk", flat=True)) < {run.pk for run in failed}


def test_the_button_says_what_a_retry_will_be_and_leads_to_the_new_run(
    as_owner: Client, owner: User, worker: Worker, own: Any, own_block: Block
) -> None:
    study = launch(owner, {**own_block, "seeds": 1})
    run = fail_next(worker)
    assert "Relaunch" not in as_owner.get(f"/runs/{run.pk}").content.decode()
    own()
    assert "Relaunch under the new identity" in as_owner.get(f"/runs/{run.pk}").content.decode()
    page = as_owner.get(f"/studies/{study.pk}").content.decode()
    assert "Relaunch 1 under the new identity" in page
    assert "Retry failed and cancelled, relaunch what changed" in page
    answer = as_owner.post(f"/runs/{run.pk}/retry")
    assert answer["Location"] == f"/runs/{study.runs.get().pk}" != f"/runs/{run.pk}"


def test_over_rest_the_answer_is_the_new_run(
    as_owner: Client, owner: User, worker: Worker, own: Any, own_block: Block
) -> None:
    study = launch(owner, {**own_block, "seeds": 1})
    run = fail_next(worker)
    own()
    answer = as_owner.post(f"/api/v1/runs/{run.pk}/retry")
    assert answer.status_code == 200, answer.content
    assert (answer.json()["id"], answer.json()["state"]) == (study.runs.get().pk, "queued")
    assert answer.json()["id"] != run.pk


def test_from_the_start_none_of_its_rounds_and_checkpoints_are_left(owner: User, worker: Worker) -> None:
    block = {"dataset": {"name": "digits"}, "model": {"name": "mlp-50"}, "strategy": {"name": "fedavg"}, "rounds": 3}
    study = launch(owner, block)
    claim = claimed(worker)
    rounds_record(claim=claim, records=[RoundRecord(1, {"accuracy": 0.5}, (0,), {})])
    checkpoint_record(claim=claim, path=f"runs/{claim.run}/checkpoints/round-00000001.x", round_number=1)
    run_fail(claim=claim, reason="None of the run's checkpoints can be used.")
    run = run_retry(run=Run.objects.get(pk=claim.run), actor=owner, from_start=True)
    assert (run.state, run.rounds_done, run.rounds.count()) == (RunState.QUEUED, 0, 0)
    again = claimed(worker)
    assert (again.run, again.attempt, again.resume) == (claim.run, 2, ())
    assert AuditEntry.objects.get(action="run.restart").subject == f"run {run.pk}"
    assert study.runs.get() == run
