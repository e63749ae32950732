"""Deleting a study: at once for whoever asks, then in batches, and right whatever is launched meanwhile."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from experiments.core.database import Lock
from experiments.core.errors import ConflictError, GoneError
from experiments.housekeeping.services.attempts import JobAttempt, JobStoppedError
from experiments.housekeeping.services.jobs import job_claim, job_release
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import Job, JobState, Run, RunState, Study, User, Worker
from experiments.queue.services.claim import run_claim
from experiments.studies.services import deletion
from experiments.studies.services.deletion import deletion_work, study_delete
from experiments.studies.services.launch import study_launch
from tests.experiments import lab
from workers.home import run_folder

Block = dict[str, Any]


@pytest.fixture
def study(owner: User, block: Block) -> Study:
    """Four runs."""
    return study_launch(owner=owner, name="Rivers", blocks=[block])


@pytest.fixture
def overlapping(stranger: User, block: Block) -> Study:
    """Holds two of them too."""
    return study_launch(owner=stranger, name="Lakes", blocks=[{**block, "strategy": {"name": "fedavg"}}])


def test_asking_only_hides_it_and_stops_what_is_at_work(
    study: Study, overlapping: Study, owner: User, worker: Worker
) -> None:
    claims = [run_claim(worker=worker) for _ in range(3)]
    assert study_delete(study=study, actor=owner) == 2
    assert Run.objects.count() == 4
    assert list(Study.objects.all()) == [overlapping]
    own = claims[-1]
    assert own is not None
    assert list(Run.objects.filter(cancel_requested=True).values_list("pk", flat=True)) == [own.run]
    job = Job.objects.get()
    assert (job.kind, job.subject, job.state) == ("deletion", f"study {study.pk}", JobState.QUEUED)


def test_the_work_takes_the_runs_that_only_it_holds(study: Study, overlapping: Study, owner: User) -> None:
    study_delete(study=study, actor=owner)
    assert jobs_carry_out() == 1
    assert set(Run.objects.all()) == set(overlapping.runs.all())
    assert (Run.objects.count(), Study.every.count()) == (2, 1)
    job = Job.objects.get()
    assert (job.state, job.text) == (JobState.DONE, "2 runs")


def test_it_is_refused_where_more_would_go_than_was_agreed_to(study: Study, owner: User) -> None:
    with pytest.raises(ConflictError, match="Nothing was deleted: 4 runs would go by now, not 2"):
        study_delete(study=study, actor=owner, expected=2)
    assert study_delete(study=study, actor=owner, expected=4) == 4
    with pytest.raises(GoneError):
        study_delete(study=Study.every.get(), actor=owner)


def test_the_files_go_too(study: Study, owner: User, django_capture_on_commit_callbacks: Any) -> None:
    folder = run_folder(study.runs.earliest("pk").pk)
    folder.mkdir(parents=True)
    study_delete(study=study, actor=owner)
    with django_capture_on_commit_callbacks(execute=True):
        jobs_carry_out()
    assert not folder.exists()


def test_what_is_launched_meanwhile_takes_over_what_is_still_there(
    study: Study, owner: User, stranger: User, block: Block
) -> None:
    lab.moved(study.runs.earliest("pk"), RunState.DONE)
    study_delete(study=study, actor=owner)
    again = study_launch(owner=stranger, name="Same", blocks=[block])
    assert set(again.runs.values_list("pk")) == set(Run.objects.values_list("pk"))
    jobs_carry_out()
    assert (Study.every.count(), again.runs.count(), Run.objects.count()) == (1, 4, 4)
    assert not again.runs.filter(state=RunState.CANCELLED).exists()


def test_what_is_reserved_for_deletion_is_taken_by_no_launch(
    study: Study, owner: User, stranger: User, block: Block
) -> None:
    old = set(study.runs.values_list("pk", flat=True))
    study_delete(study=study, actor=owner)
    assert set(deletion.reserve_runs(Study.every.get(pk=study.pk))) == old
    again = study_launch(owner=stranger, name="Same", blocks=[block])
    assert not old & set(again.runs.values_list("pk", flat=True))
    jobs_carry_out()
    assert set(Run.objects.all()) == set(again.runs.all())
    assert Run.objects.count() == 4


def test_a_process_that_leaves_or_dies_in_the_middle_loses_nothing(
    study: Study, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "DELETED_AT_ONCE", 1)
    study_delete(study=study, actor=owner)
    job, stop = job_claim(), Event()
    assert job is not None
    stop.set()
    with pytest.raises(JobStoppedError):
        deletion_work(JobAttempt(job, stop))
    assert (study.runs.count(), Study.every.count()) == (3, 1)
    job_release(job=job)
    assert jobs_carry_out() == 1
    assert (Run.objects.count(), Study.every.count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_rows_are_deleted_while_launches_cancels_and_retries_have_their_lock(
    study: Study, owner: User, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[bool] = []

    def with_the_lock_free(runs: Any) -> None:
        other = connections.create_connection("default")
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [int(Lock.HOLDERS)])
            taken.append(cursor.fetchone()[0])
        other.close()
        Run.objects.filter(pk__in=runs).delete()

    monkeypatch.setattr(deletion, "delete_runs", with_the_lock_free)
    study_delete(study=study, actor=owner)
    jobs_carry_out()
    assert taken == [True]
    assert not Study.every.exists()


def test_the_page_and_rest_say_so_until_it_is_gone(as_owner: Client, owner: User, study: Study) -> None:
    answer = as_owner.delete(f"/api/v1/studies/{study.pk}")
    assert (answer.status_code, answer.json()) == (202, {"runs": 4})
    page = as_owner.get(f"/studies/{study.pk}").content.decode()
    assert "“Rivers” is being deleted" in page
    assert as_owner.get(f"/studies/{study.pk}", headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    assert as_owner.get(f"/api/v1/studies/{study.pk}").json()["being_deleted"] is True
    assert as_owner.get("/api/v1/studies").json()["items"] == []
    assert "Rivers" not in as_owner.get("/studies").content.decode()
    for action in ("pause", "cancel", "retry"):
        assert as_owner.post(f"/api/v1/studies/{study.pk}/{action}").status_code == 404
    jobs_carry_out()
    assert as_owner.get(f"/studies/{study.pk}").status_code == 404
    assert as_owner.get(f"/api/v1/studies/{study.pk}").status_code == 404
