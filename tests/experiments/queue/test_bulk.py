from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from experiments.core.errors import NotAllowedError
from experiments.models import Run, RunState, Study, User
from experiments.queue.services.bulk import (
    EQUAL,
    FOREIGN,
    GONE,
    NOT_ENDED,
    BulkOutcome,
    runs_cancel,
    runs_retry,
    studies_change,
)
from experiments.queue.services.runs import run_cancel
from experiments.studies.services.launch import study_launch
from tests.experiments import lab
from workers.errors import TributaryError

Block = dict[str, Any]


def ids(study: Study) -> list[int]:
    return [run.pk for run in lab.runs_in_order(study)]


def states(study: Study) -> list[str]:
    return [run.state for run in lab.runs_in_order(study)]


def test_it_cancels_what_it_may_and_tells_what_it_may_not(owner: User, stranger: User) -> None:
    mine, theirs = lab.launched(owner), lab.launched(stranger, rounds=5)
    runs = lab.runs_in_order(mine)
    lab.moved(runs[0], RunState.RUNNING)
    lab.moved(runs[1], RunState.DONE)
    outcome = runs_cancel(runs=[*ids(mine)[:4], ids(theirs)[0], 999_999], actor=owner)
    assert outcome == BulkOutcome(3, Counter({FOREIGN: 1, "already ended": 1, GONE: 1}))
    assert states(mine) == ["running", "done", "cancelled", "cancelled", "queued", "queued"]
    assert Run.objects.get(pk=runs[0].pk).cancel_requested
    assert set(states(theirs)) == {"queued"}


def test_a_run_that_a_colleague_waits_for_too_goes_on(owner: User, stranger: User, admin: User) -> None:
    mine = lab.launched(owner)
    lab.launched(stranger, "The same again")
    assert runs_cancel(runs=ids(mine), actor=owner) == BulkOutcome(0, Counter({FOREIGN: 6}))
    assert runs_cancel(runs=ids(mine), actor=admin) == BulkOutcome(6)


def test_it_retries_what_failed_or_was_cancelled(owner: User, stranger: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    lab.moved(runs[0], RunState.FAILED, "Out of memory.")
    lab.moved(runs[1], RunState.CANCELLED)
    Study.objects.update(cancelled=True)
    assert runs_retry(runs=ids(study), actor=stranger) == BulkOutcome(0, Counter({FOREIGN: 2, NOT_ENDED: 4}))
    assert runs_retry(runs=ids(study), actor=owner) == BulkOutcome(2, Counter({NOT_ENDED: 4}))
    assert set(states(study)) == {"queued"}
    study.refresh_from_db()
    assert not study.cancelled


def test_a_run_whose_place_was_taken_is_not_retried(owner: User) -> None:
    first = lab.launched(owner, strategy={"name": "fedavg"}, seeds=1)
    (old,) = lab.runs_in_order(first)
    run_cancel(run=old, actor=owner)
    lab.launched(owner, "Anew", strategy={"name": "fedavg"}, seeds=1)
    assert runs_retry(runs=[old.pk], actor=owner) == BulkOutcome(0, Counter({EQUAL: 1}))


def test_of_two_equal_runs_one_is_retried(owner: User) -> None:
    one = {"strategy": {"name": "fedavg"}, "seeds": 1}
    for name in ("First", "Second"):
        (run,) = lab.runs_in_order(lab.launched(owner, name, **one))
        run_cancel(run=run, actor=owner)
    every = list(Run.objects.values_list("pk", flat=True))
    assert runs_retry(runs=every, actor=owner) == BulkOutcome(1, Counter({EQUAL: 1}))


def test_a_viewer_changes_nothing(viewer: User, owner: User) -> None:
    study = lab.launched(owner)
    for act in (runs_cancel, runs_retry):
        with pytest.raises(NotAllowedError):
            act(runs=ids(study), actor=viewer)
    with pytest.raises(NotAllowedError):
        studies_change(studies=[study.pk], actor=viewer, action="pause")


def test_studies_are_changed_together(owner: User, stranger: User, block: Block) -> None:
    mine = [lab.launched(owner, "One"), lab.launched(owner, "Two", rounds=5)]
    theirs = study_launch(owner=stranger, name="Theirs", blocks=[{**block, "rounds": 9}])
    studies = [*(study.pk for study in mine), theirs.pk]
    refused = Counter({"Only the study's owner or an admin may do this": 1})
    assert studies_change(studies=studies, actor=owner, action="pause") == BulkOutcome(2, refused)
    assert studies_change(studies=studies, actor=owner, action="priority", priority=7) == BulkOutcome(2, refused)
    assert list(Study.objects.order_by("pk").values_list("paused", "priority")) == [(True, 7), (True, 7), (False, 0)]
    assert studies_change(studies=studies, actor=owner, action="resume") == BulkOutcome(2, refused)
    assert studies_change(studies=studies, actor=owner, action="cancel") == BulkOutcome(2, refused)
    assert set(states(mine[0])) == {"cancelled"}
    assert studies_change(studies=[*studies, 999_999], actor=owner, action="retry") == BulkOutcome(
        2, refused + Counter([GONE])
    )
    assert set(states(mine[0])) == {"queued"}


@pytest.mark.parametrize("priority", [None, -101, 101])
def test_a_priority_that_is_none_is_refused_as_a_whole(owner: User, priority: int | None) -> None:
    study = lab.launched(owner)
    with pytest.raises(TributaryError, match="a whole number from -100 to 100"):
        studies_change(studies=[study.pk], actor=owner, action="priority", priority=priority)
