"""Launches, cancels, pauses, retries, deletions, people and tokens leave an entry, and what is refused leaves none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from experiments.access.services.people import user_create
from experiments.core.errors import NotAllowedError
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import AuditEntry, Study, User
from experiments.queue.services.bulk import runs_cancel, runs_retry
from experiments.queue.services.retry import run_retry
from experiments.queue.services.runs import run_cancel
from experiments.studies.services.changes import study_cancel, study_pause, study_resume, study_retry
from experiments.studies.services.deletion import study_delete
from tests.experiments import lab

Entry = tuple[str, str, str, dict[str, Any]]


def last_entry() -> Entry:
    """The latest entry."""
    entry = AuditEntry.objects.latest("id")
    return entry.actor_name, entry.action, entry.subject, entry.detail


def test_a_launch(owner: User) -> None:
    study = lab.launched(owner)
    assert last_entry() == ("owner", "study.launch", f"study {study.pk}", {"name": "Two strategies", "runs": 6})


def test_cancelling_a_study(owner: User, admin: User) -> None:
    study = lab.launched(owner)
    study_cancel(study=study, actor=admin)
    assert last_entry() == ("boss", "study.cancel", f"study {study.pk}", {"name": "Two strategies", "runs": 6})


def test_deleting_a_study(owner: User) -> None:
    study = lab.launched(owner)
    number = study.pk
    study_delete(study=study, actor=owner)
    assert last_entry() == ("owner", "study.delete", f"study {number}", {"name": "Two strategies", "runs": 6})


def test_cancelling_runs_one_by_one_and_many_at_once(owner: User) -> None:
    first, second, third, *_ = lab.runs_in_order(lab.launched(owner))
    run_cancel(run=first, actor=owner)
    assert last_entry() == ("owner", "run.cancel", f"run {first.pk}", {})
    runs_cancel(runs=[second.pk, third.pk], actor=owner)
    assert last_entry() == ("owner", "run.cancel", "2 runs", {"runs": [second.pk, third.pk]})


def test_pausing_resuming_and_retrying(owner: User, admin: User) -> None:
    study = lab.launched(owner)
    study_pause(study=study, actor=admin)
    assert last_entry() == ("boss", "study.pause", f"study {study.pk}", {"name": "Two strategies"})
    study_resume(study=study, actor=owner)
    assert last_entry() == ("owner", "study.resume", f"study {study.pk}", {"name": "Two strategies"})

    first, second, third, *_ = lab.runs_in_order(study)
    runs_cancel(runs=[first.pk, second.pk, third.pk], actor=owner)
    run_retry(run=first, actor=owner)
    assert last_entry() == ("owner", "run.retry", f"run {first.pk}", {})
    runs_retry(runs=[second.pk], actor=owner)
    assert last_entry() == ("owner", "run.retry", "1 run", {"runs": [second.pk]})
    study_retry(study=study, actor=owner)
    assert last_entry() == ("owner", "study.retry", f"study {study.pk}", {"name": "Two strategies", "runs": 1})


def test_a_new_person(db: None) -> None:
    user_create(name="mira", role="viewer")
    assert last_entry() == ("", "user.create", "user mira", {"role": "viewer"})


def test_an_entry_outlives_the_person(owner: User) -> None:
    user, _ = user_create(name="mira", role="member")
    study_delete(study=lab.launched(user), actor=user)
    jobs_carry_out()
    user.delete()
    assert last_entry()[0] == "mira"


@pytest.mark.parametrize("service", [study_cancel, study_delete])
def test_what_is_refused_leaves_none(owner: User, stranger: User, service: Callable[..., Any]) -> None:
    study: Study = lab.launched(owner)
    with pytest.raises(NotAllowedError):
        service(study=study, actor=stranger)
    assert last_entry()[1] == "study.launch"
