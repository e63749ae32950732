"""Home: who runs what, what ended this week with its headline, and what needs somebody."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from experiments.home.selectors import failures_since, lab_attention, lab_home, studies_at_work, studies_ended
from experiments.models import Run, RunState, Study, User, Worker
from experiments.studies.services.changes import study_archive, study_cancel
from tests.experiments import lab


def ended_study(owner: User, name: str, days_ago: float, value: float, **changes: object) -> Study:
    made = lab.launched(owner, name, **changes)
    for run in lab.runs_in_order(made):
        lab.record(run, {"accuracy": [0.1, value + run.seed / 100]})
    moment = timezone.now() - timedelta(days=days_ago)
    Run.objects.filter(studies=made).update(started=moment, finished=moment)
    Study.objects.filter(pk=made.pk).update(created=moment)
    return made


def test_who_runs_what_those_at_work_before_those_that_wait(owner: User, stranger: User, study: Study) -> None:
    waiting = lab.launched(stranger, "Waits", rounds=7)
    at_work = lab.launched(stranger, "Runs too", rounds=8)
    lab.moved(lab.runs_in_order(at_work)[0], RunState.RUNNING)
    study_cancel(study=lab.launched(owner, "Cancelled", rounds=9), actor=owner)
    assert studies_at_work() == [study, at_work, waiting]


def test_what_ended_this_week_has_its_headline_and_its_curve(as_owner: Client, owner: User, stranger: User) -> None:
    ended_study(owner, "Long ago", 8, 0.5, rounds=3)
    ended_study(stranger, "Yesterday", 1, 0.8, rounds=4)
    ended_study(owner, "Today", 0.1, 0.6, rounds=5)
    home = lab_home(owner)
    assert [row.study.name for row in home.ended.rows] == ["Today", "Yesterday"]
    yesterday = home.ended.rows[1]
    # Three seeds: 0.80, 0.81 and 0.82.
    assert (yesterday.best.mean, yesterday.best.std, yesterday.best.n) == (
        pytest.approx(0.81), pytest.approx(0.01), 3,
    )  # fmt: skip
    assert yesterday.curve == (0.1, pytest.approx(0.81))
    page = as_owner.get("/").content.decode()
    assert "81.0 ± 1.0" in page
    assert "Long ago" not in page


def test_a_study_that_still_runs_has_not_ended(study: Study) -> None:
    Run.objects.filter(studies=study, state=RunState.DONE).update(finished=timezone.now())
    assert studies_ended(since=timezone.now() - timedelta(days=7)) == []


def test_a_study_whose_runs_were_all_there_ended_when_it_was_launched(owner: User) -> None:
    ended_study(owner, "First", 30, 0.5)
    again = lab.launched(owner, "Again")
    assert studies_ended(since=timezone.now() - timedelta(days=7)) == [again]


def test_failures_are_told_by_study_and_reason_until_somebody_acts(
    browsers: dict[str, Client], study: Study, owner: User, stranger: User
) -> None:
    now = timezone.now()
    other = lab.launched(stranger, "Another", rounds=5)
    for run, reason in zip(lab.runs_in_order(other)[:3], ("Disk full.\nat 1", "Disk full.\nat 2", "Gone"), strict=True):
        lab.moved(run, RunState.FAILED, reason)
    old = lab.launched(owner, "Old", rounds=6)
    lab.moved(lab.runs_in_order(old)[0], RunState.FAILED, "Forgotten")
    Run.objects.filter(state=RunState.FAILED).exclude(studies=old).update(finished=now)
    since = now - timedelta(days=14)
    assert {(each.study.name, each.reason, each.runs) for each in failures_since(since)} == {
        ("Two strategies", "Out of memory.", 1),
        ("Another", "Disk full.", 2),
        ("Another", "Gone", 1),
    }
    page = browsers["owner"].get("/").content.decode()
    assert page.count("Retry<span") == 1
    assert page.count("See the log<span") == 2
    browsers["owner"].post(f"/studies/{study.pk}/retry", {"reason": "Out of memory.", "next": "/"})
    study_archive(study=other, actor=stranger)
    assert failures_since(since) == []


def test_runs_that_wait_without_a_worker_need_somebody(study: Study) -> None:
    assert lab_attention().waiting_without_worker == 1
    Worker.objects.create(name="w", host="h", device="cpu", started=timezone.now(), heartbeat=timezone.now())
    assert lab_attention().waiting_without_worker == 0


def test_a_worker_whose_device_is_broken_needs_somebody(as_owner: Client, study: Study, worker: Worker) -> None:
    Worker.objects.filter(pk=worker.pk).update(facts={"trouble": "CUDA error: device lost"})
    assert "CUDA error: device lost" in as_owner.get("/").content.decode()


def test_a_lab_without_studies_invites_to_a_first_one(as_owner: Client) -> None:
    page = as_owner.get("/").content.decode()
    assert "No studies yet" in page
    assert "Needs somebody" not in page


def test_a_part_of_it_is_answered_to_the_page_that_is_open(as_owner: Client, study: Study) -> None:
    part = as_owner.get("/", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "1 study · 6 runs" in part
