"""The queue of jobs: how many at once, what becomes of silent ones, and what a second try may write."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from config.celery import app
from django.db.models.functions import Now

from experiments.housekeeping.services import jobs
from experiments.housekeeping.services.jobs import (
    job_add,
    job_beat,
    job_claim,
    job_fail,
    job_finish,
    job_progress,
    job_release,
    job_try_again,
    jobs_prune,
    jobs_reap,
    wake_up_for_waiting_jobs,
)
from experiments.models import Job, JobKind, JobState

pytestmark = pytest.mark.django_db


def add(kind: JobKind, number: int = 0) -> Job:
    job = job_add(kind=kind, subject=f"{kind} {number}")
    assert job is not None
    return job


def claim() -> Job:
    job = job_claim()
    assert job is not None
    return job


def silence(job: Job, seconds: int) -> None:
    Job.objects.filter(pk=job.pk).update(heartbeat=Now() - timedelta(seconds=seconds))


def stored(job: Job) -> tuple[str, int, str]:
    job.refresh_from_db()
    return job.state, job.attempt, job.text


def test_of_each_kind_only_so_many_are_at_work_and_none_waits_for_another() -> None:
    for kind in (JobKind.FETCH, JobKind.IMPORT, JobKind.VERIFY, JobKind.DELETION, JobKind.DELETION):
        add(kind, Job.objects.count())
    for kind in (JobKind.CLIENT_DATA, JobKind.OVERVIEW, JobKind.CLIENT_DATA, JobKind.CALIBRATION, JobKind.CALIBRATION):
        add(kind, Job.objects.count())
    claimed = []
    while job := job_claim():
        claimed.append(job)
    assert [job.kind for job in claimed] == ["fetch", "import", "deletion", "client data", "overview", "calibration"]
    job_finish(job=claimed[0])
    assert claim().kind == "verify"
    assert job_claim() is None


def test_the_same_is_asked_for_once() -> None:
    job = add(JobKind.DELETION)
    assert job_add(kind=JobKind.DELETION, subject=job.subject) is None
    job_finish(job=claim())
    assert job_add(kind=JobKind.DELETION, subject=job.subject) is not None


def test_progress_stays_between_0_and_1_and_text_is_text() -> None:
    add(JobKind.FETCH)
    job = claim()
    assert job_progress(job=job, share=1.7, text="a\0b")
    job.refresh_from_db()
    assert (job.share, job.percent, job.text) == (1.0, 100, "a\N{REPLACEMENT CHARACTER}b")


def test_a_released_job_waits_again_uncounted_and_an_ended_one_is_left_alone() -> None:
    add(JobKind.FETCH)
    job_release(job=claim())
    job = claim()
    assert job.attempt == 1
    job_finish(job=job, text="all")
    job_fail(job=job, reason="too late")
    assert stored(job) == (JobState.DONE, 1, "all")


def test_one_that_fell_silent_is_tried_again_after_a_pause_and_given_up_at_last() -> None:
    add(JobKind.IMPORT)
    for number in (1, 2):
        job = claim()
        assert jobs_reap() == 0
        silence(job, 61)
        assert jobs_reap() == 1
        assert stored(job) == (JobState.QUEUED, number, "Its process is gone.")
        assert job_claim() is None
        silence(job, 31)
    silence(job := claim(), 61)
    assert jobs_reap() == 1
    assert stored(job) == (JobState.FAILED, 3, "Its process is gone. Given up after 3 tries.")


def test_a_deletion_is_never_given_up() -> None:
    add(JobKind.DELETION)
    for _ in range(5):
        job_try_again(job=(job := claim()), reason="No.")
        silence(job, 31)
    assert stored(job) == (JobState.QUEUED, 5, "No.")


def test_what_was_given_to_another_process_is_not_written_any_more() -> None:
    add(JobKind.FETCH)
    late = claim()
    silence(late, 61)
    jobs_reap()
    silence(late, 31)
    job = claim()
    assert not job_beat(job=late)
    assert not job_progress(job=late, share=0.5, text="late")
    job_finish(job=late, text="late")
    assert stored(job) == (JobState.RUNNING, 2, "")


def test_the_scheduler_rings_for_what_could_begin_and_for_nothing_else(redis_url: str) -> None:
    with app.connection_for_write() as broker:
        channel: Any = broker.default_channel
        channel.queue_purge("housekeeping")
        assert (wake_up_for_waiting_jobs(), channel.client.llen("housekeeping")) == (0, 0)
        add(JobKind.DELETION, 1)
        add(JobKind.DELETION, 2)
        assert (wake_up_for_waiting_jobs(), channel.client.llen("housekeeping")) == (2, 2)
        claim()
        assert wake_up_for_waiting_jobs() == 0
        channel.queue_purge("housekeeping")


def test_what_left_its_result_elsewhere_is_forgotten_after_a_day() -> None:
    for kind in (JobKind.CLIENT_DATA, JobKind.FETCH):
        add(kind)
        job_finish(job=claim())
    assert jobs_prune() == 0
    Job.objects.update(finished=Now() - timedelta(days=2))
    assert jobs_prune() == 1
    assert Job.objects.get().kind == JobKind.FETCH


def test_who_asks_while_very_many_wait_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_WAITING", 2)
    add(JobKind.CLIENT_DATA, 1)
    assert not jobs.is_crowded(JobKind.CLIENT_DATA)
    add(JobKind.CLIENT_DATA, 2)
    assert jobs.is_crowded(JobKind.CLIENT_DATA)
    assert not jobs.is_crowded(JobKind.OVERVIEW)
