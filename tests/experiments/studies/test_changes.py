from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from experiments.core.errors import ConflictError, GoneError, NotAllowedError
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import AuditEntry, Run, RunState, Study, User, Worker
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import run_fail, run_release
from experiments.queue.services.retry import run_retry
from experiments.queue.services.runs import run_cancel
from experiments.studies.services.changes import (
    study_cancel,
    study_pause,
    study_resume,
    study_retry,
    study_update,
)
from experiments.studies.services.deletion import study_delete
from experiments.studies.services.launch import study_launch
from workers.errors import SpecError

Block = dict[str, Any]


@pytest.fixture
def study(owner: User, block: Block) -> Study:
    return study_launch(owner=owner, name="First", blocks=[block])


@pytest.fixture
def overlapping(stranger: User, block: Block) -> Study:
    """The stranger's: holds the two FedAvg runs too."""
    return study_launch(owner=stranger, name="Second", blocks=[{**block, "strategy": {"name": "fedavg"}}])


def states(study: Study) -> Counter[str]:
    return Counter(study.runs.values_list("state", flat=True))


def test_cancelling_touches_only_runs_that_no_other_study_holds(
    study: Study, overlapping: Study, owner: User, stranger: User
) -> None:
    study_cancel(study=study, actor=owner)
    assert states(study) == {"queued": 2, "cancelled": 2}
    assert states(overlapping) == {"queued": 2}
    study_cancel(study=overlapping, actor=stranger)
    assert states(overlapping) == {"cancelled": 2}


def test_a_running_run_is_asked_to_stop_and_then_cancelled(study: Study, owner: User, worker: Worker) -> None:
    claim = run_claim(worker=worker)
    assert claim
    study_cancel(study=study, actor=owner)
    assert states(study) == {"running": 1, "cancelled": 3}
    run_release(claim=claim)
    assert states(study) == {"cancelled": 4}


def test_a_stopped_run_that_is_wanted_again_goes_back_to_the_queue(
    study: Study, owner: User, worker: Worker, block: Block
) -> None:
    claim = run_claim(worker=worker)
    assert claim
    study_cancel(study=study, actor=owner)
    study_launch(owner=owner, name="Again", blocks=[block])
    run_release(claim=claim)
    assert Run.objects.get(pk=claim.run).state == RunState.QUEUED


def test_a_paused_study_holds_its_queued_runs_back(study: Study, owner: User, worker: Worker) -> None:
    study_pause(study=study, actor=owner)
    assert run_claim(worker=worker) is None
    study_resume(study=study, actor=owner)
    assert run_claim(worker=worker) is not None


def test_a_paused_study_does_not_hold_back_what_another_wants(
    study: Study, overlapping: Study, owner: User, worker: Worker
) -> None:
    study_pause(study=study, actor=owner)
    claims = [run_claim(worker=worker) for _ in range(3)]
    assert [claim and claim.spec["strategy"]["name"] for claim in claims] == ["fedavg", "fedavg", None]


def test_retry_queues_what_failed_or_was_cancelled_and_keeps_ids(study: Study, owner: User, worker: Worker) -> None:
    before = set(study.runs.values_list("pk", flat=True))
    claim = run_claim(worker=worker)
    assert claim
    run_fail(claim=claim, reason="Out of luck.")
    study_cancel(study=study, actor=owner)
    assert study_retry(study=study, actor=owner) == 4
    assert set(study.runs.values_list("pk", flat=True)) == before
    assert states(study) == {"queued": 4}
    assert not study.runs.exclude(reason="").exists()


def test_retry_of_one_reason_leaves_other_failures_and_cancelled_runs_alone(
    study: Study, owner: User, worker: Worker
) -> None:
    for reason in ("Out of luck.\nstep 3", "Out of luck.\nstep 4", "Out of disk."):
        claim = run_claim(worker=worker)
        assert claim
        run_fail(claim=claim, reason=reason)
    run_cancel(run=study.runs.get(state=RunState.QUEUED), actor=owner)
    assert study_retry(study=study, actor=owner, reason="Out of luck.") == 2
    assert states(study) == {"queued": 2, "failed": 1, "cancelled": 1}
    assert study.runs.get(state=RunState.FAILED).reason == "Out of disk."


def test_retry_takes_an_equal_live_run_instead_of_a_copy(study: Study, owner: User, block: Block) -> None:
    study_cancel(study=study, actor=owner)
    newer = study_launch(owner=owner, name="Newer", blocks=[block])
    assert study_retry(study=study, actor=owner) == 0
    assert set(study.runs.values_list("pk")) == set(newer.runs.values_list("pk"))
    assert Run.objects.count() == 4


def test_a_priority_that_passes_everyone_by_is_an_admins_to_give(
    study: Study, owner: User, admin: User, block: Block
) -> None:
    with pytest.raises(NotAllowedError, match="Only an admin may give a priority above 10"):
        study_update(study=study, actor=owner, priority=11)
    with pytest.raises(NotAllowedError, match="Only an admin may give a priority above 10"):
        study_launch(owner=owner, name="Now", blocks=[block], priority=100)
    study.refresh_from_db()
    assert study_update(study=study, actor=admin, priority=50).priority == 50
    assert study_update(study=study, actor=owner, name="Mine", priority=50).priority == 50
    assert study_update(study=study, actor=owner, priority=20).priority == 20
    entries = AuditEntry.objects.filter(action="study.priority").order_by("pk")
    assert [(each.actor_name, each.detail["before"], each.detail["priority"]) for each in entries] == [
        ("boss", 0, 50),
        ("owner", 50, 20),
    ]


def test_a_single_run_can_be_cancelled_and_retried(study: Study, owner: User) -> None:
    run = study.runs.earliest("pk")
    assert run_cancel(run=run, actor=owner).state == RunState.CANCELLED
    with pytest.raises(ConflictError, match="The run is cancelled"):
        run_cancel(run=run, actor=owner)
    assert run_retry(run=run, actor=owner).state == RunState.QUEUED
    with pytest.raises(ConflictError, match="The run is queued"):
        run_retry(run=run, actor=owner)


def test_a_run_that_another_study_waits_for_is_not_cancelled_by_one_owner(
    study: Study, overlapping: Study, owner: User, admin: User
) -> None:
    shared = overlapping.runs.earliest("pk")
    with pytest.raises(NotAllowedError, match=f"Study {overlapping.pk} of stranger"):
        run_cancel(run=shared, actor=owner)
    assert run_cancel(run=shared, actor=admin).state == RunState.CANCELLED


def test_a_cancelled_run_with_an_equal_live_one_is_not_retried_alone(study: Study, owner: User, block: Block) -> None:
    run = run_cancel(run=study.runs.earliest("pk"), actor=owner)
    study_launch(owner=owner, name="Newer", blocks=[block])
    with pytest.raises(ConflictError, match="is equal and takes its place"):
        run_retry(run=run, actor=owner)


def test_a_study_can_be_renamed_tagged_and_prioritised(study: Study, owner: User) -> None:
    changed = study_update(study=study, actor=owner, name="Better", tags=["x"], priority=5)
    assert (changed.name, changed.tags, changed.priority, changed.description) == ("Better", ["x"], 5, "")
    with pytest.raises(SpecError):
        study_update(study=study, actor=owner, name=" ")


def test_two_changes_at_once_of_different_things_both_count(study: Study, owner: User, admin: User) -> None:
    """Both read the study before either wrote."""
    first, second = (Study.objects.get(pk=study.pk) for _ in range(2))
    study_update(study=first, actor=admin, priority=7)
    study_update(study=second, actor=owner, name="Better")
    study.refresh_from_db()
    assert (study.name, study.priority) == ("Better", 7)


@pytest.mark.parametrize("action", [study_cancel, study_pause, study_resume, study_retry, study_update, study_delete])
def test_strangers_and_viewers_may_not_manage(
    action: Callable[..., Any], study: Study, stranger: User, viewer: User
) -> None:
    for person in (stranger, viewer):
        with pytest.raises(NotAllowedError):
            action(study=study, actor=person)


@pytest.mark.parametrize("action", [study_cancel, study_pause, study_resume, study_retry, study_update, study_delete])
def test_an_admin_may_manage_everything(action: Callable[..., Any], study: Study, admin: User) -> None:
    action(study=study, actor=admin)


def test_deleting_the_last_study_that_waits_cancels_what_only_cancelled_ones_hold(
    study: Study, overlapping: Study, owner: User, stranger: User, worker: Worker
) -> None:
    study_cancel(study=study, actor=owner)
    claim = run_claim(worker=worker)
    assert claim
    study_delete(study=overlapping, actor=stranger)
    jobs_carry_out()
    assert states(study) == {"running": 1, "cancelled": 3}
    assert Run.objects.get(pk=claim.run).cancel_requested


def test_a_retry_by_reason_wants_the_equal_run_that_is_being_cancelled(
    study: Study, stranger: User, owner: User, worker: Worker, block: Block
) -> None:
    first = run_claim(worker=worker)
    assert first
    run_fail(claim=first, reason="Out of luck.")
    theirs = study_launch(
        owner=stranger, name="Again", blocks=[{**block, "strategy": {"name": "fedavg"}, "seeds": [0]}]
    )
    study_pause(study=study, actor=owner)
    again = run_claim(worker=worker)
    assert again
    study_cancel(study=theirs, actor=stranger)
    assert study_retry(study=study, actor=owner, reason="Out of luck.") == 1
    run_release(claim=again)
    assert study.runs.filter(pk=again.run, state=RunState.QUEUED).exists()


def test_a_study_that_was_deleted_meanwhile_is_gone_for_every_button(study: Study, owner: User) -> None:
    late = [Study.objects.get(pk=study.pk) for _ in range(6)]
    study_delete(study=study, actor=owner)
    deeds: list[Callable[..., object]] = [
        study_cancel, study_pause, study_resume, study_retry, study_delete, study_update
    ]  # fmt: skip
    for deed, each in zip(deeds, late, strict=True):
        with pytest.raises(GoneError):
            deed(study=each, actor=owner)
