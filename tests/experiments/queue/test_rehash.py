"""Queued runs at an upgrade."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.models import Run, RunState, Study, User, Worker
from experiments.queue.services.leases import checkpoint_record, rounds_record, run_finish, run_release
from experiments.queue.services.rehash import queued_runs_rehash
from experiments.studies.services.launch import study_launch
from tests.experiments.queue.claims import claimed, launch
from workers.engine.records import RoundRecord
from workers.spec import canonical_hash, identity, parse_run

Block = dict[str, Any]


@pytest.fixture(autouse=True)
def version_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "ENGINE_VERSION", 7)


@pytest.fixture
def one(block: Block) -> Block:
    return {**block, "strategy": {"name": "fedavg"}, "seeds": 1}


def upgrade(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(identity, "ENGINE_VERSION", 8)
    return queued_runs_rehash()


def is_current(run: Run) -> bool:
    return run.hash == canonical_hash(parse_run(run.spec))


def test_without_an_upgrade_nothing_changes(owner: User, block: Block) -> None:
    launch(owner, block)
    before = list(Run.objects.order_by("pk").values_list("hash", flat=True))
    assert queued_runs_rehash() == 0
    assert list(Run.objects.order_by("pk").values_list("hash", flat=True)) == before


def test_queued_runs_get_the_identity_they_would_be_launched_with(
    owner: User, block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = launch(owner, block)
    assert upgrade(monkeypatch) == 4
    assert all(is_current(run) for run in study.runs.all())
    assert {run.launch_sources["engine_version"] for run in study.runs.all()} == {8}
    assert queued_runs_rehash() == 0


def test_done_runs_keep_theirs_and_are_not_reused(
    owner: User, one: Block, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = launch(owner, one).runs.get()
    run_finish(claim=claimed(worker), provenance={})
    assert upgrade(monkeypatch) == 0
    assert Run.objects.get(pk=done.pk).hash == done.hash
    assert launch(owner, one).runs.get().pk != done.pk


def test_rounds_and_checkpoints_of_the_run_it_was_are_forgotten(
    owner: User, one: Block, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = launch(owner, one)
    claim = claimed(worker)
    rounds_record(claim=claim, records=[RoundRecord(0, {"loss": 1.0}, (), {}), RoundRecord(1, {"loss": 0.5}, (0,), {})])
    checkpoint_record(claim=claim, path="/somewhere/round-00000001", round_number=1)
    run_release(claim=claim)
    assert upgrade(monkeypatch) == 1
    run = study.runs.get()
    assert (run.state, run.rounds_done, run.metrics.count(), run.rounds.count()) == (RunState.QUEUED, 0, 0, 0)
    assert claimed(worker).resume == ()


def test_an_equal_run_that_lives_already_takes_its_place(
    owner: User, stranger: User, one: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = launch(owner, one)
    monkeypatch.setattr(identity, "ENGINE_VERSION", 8)
    live = study_launch(owner=stranger, name="After", blocks=[one]).runs.get()
    assert queued_runs_rehash() == 1
    assert Study.objects.get(pk=old.pk).runs.get().pk == live.pk
    assert Run.objects.count() == 1


def test_a_run_whose_data_changed_is_left_to_be_refused(
    owner: User, one: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(owner, one).runs.get()
    run.provenance["launched_with"]["data"] = "another"
    run.save()
    assert upgrade(monkeypatch) == 0
    assert Run.objects.get(pk=run.pk).hash == run.hash


def test_a_run_whose_plugin_changed_is_left_to_be_refused(
    owner: User, one: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(owner, one).runs.get()
    run.provenance["launched_with"]["versions"]["strategy"] = "1+0123456789ab"
    run.save()
    assert upgrade(monkeypatch) == 0


def test_runs_that_an_earlier_version_queued_are_taken_for_upgraded(owner: User, one: Block) -> None:
    run = launch(owner, one).runs.get()
    Run.objects.filter(pk=run.pk).update(hash="0" * 64, cell="1" * 64, provenance={})
    assert queued_runs_rehash() == 1
    now = Run.objects.get(pk=run.pk)
    assert (is_current(now), now.cell, now.launch_sources["engine_version"]) == (True, run.cell, 7)


def test_a_process_of_an_older_version_changes_nothing_back(
    owner: User, one: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(owner, one)
    monkeypatch.setattr(identity, "ENGINE_VERSION", 6)
    assert queued_runs_rehash() == 0


def test_a_spec_that_this_version_cannot_read_is_left_alone(
    owner: User, one: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = launch(owner, one).runs.get()
    Run.objects.filter(pk=run.pk).update(spec={**run.spec, "strategy": {"name": "gone"}})
    assert upgrade(monkeypatch) == 0
