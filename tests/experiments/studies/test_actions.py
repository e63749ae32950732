"""Buttons: who may press them, and what they say."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import RunState, Study
from tests.experiments import lab


@pytest.mark.parametrize(("who", "allowed"), [("owner", True), ("admin", True), ("stranger", False), ("viewer", False)])
def test_only_the_owner_and_admins_pause_a_study(
    browsers: dict[str, Client], study: Study, who: str, allowed: bool
) -> None:
    answer = browsers[who].post(f"/studies/{study.pk}/pause", follow=True)
    study.refresh_from_db()
    assert study.paused is allowed
    said = answer.content.decode()
    assert ("Paused: running runs go on" if allowed else "Only the study&#x27;s owner or an admin") in said


def test_what_is_not_allowed_is_not_offered(browsers: dict[str, Client], study: Study) -> None:
    assert f"/studies/{study.pk}/deletion" in browsers["owner"].get(f"/studies/{study.pk}").content.decode()
    assert f"/studies/{study.pk}/deletion" not in browsers["stranger"].get(f"/studies/{study.pk}").content.decode()


def test_cancel_resume_and_retry_follow_one_another(as_owner: Client, study: Study) -> None:
    as_owner.post(f"/studies/{study.pk}/cancel")
    assert study.runs.filter(state=RunState.CANCELLED).count() == 1
    as_owner.post(f"/studies/{study.pk}/retry")
    assert study.runs.filter(state=RunState.QUEUED).count() == 2
    as_owner.post(f"/studies/{study.pk}/pause")
    as_owner.post(f"/studies/{study.pk}/resume")
    study.refresh_from_db()
    assert not study.paused


def test_deleting_goes_back_to_the_list(as_owner: Client, study: Study) -> None:
    answer = as_owner.post(f"/studies/{study.pk}/delete")
    assert answer.headers["Location"] == "/studies"
    assert not Study.objects.exists()


def test_a_run_is_cancelled_from_the_queue_and_retried_from_its_page(as_owner: Client, study: Study) -> None:
    run = lab.runs_in_order(study)[5]
    answer = as_owner.post(f"/runs/{run.pk}/cancel", {"next": "/queue"})
    assert answer.headers["Location"] == "/queue"
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    as_owner.post(f"/runs/{run.pk}/retry")
    run.refresh_from_db()
    assert run.state == RunState.QUEUED


def test_it_never_goes_to_another_site(as_owner: Client, study: Study) -> None:
    run = lab.runs_in_order(study)[5]
    answer = as_owner.post(f"/runs/{run.pk}/cancel", {"next": "https://elsewhere.example/"})
    assert answer.headers["Location"] == f"/runs/{run.pk}"


def test_a_conflict_is_told_in_words(as_owner: Client, study: Study) -> None:
    done = lab.runs_in_order(study)[0]
    said = as_owner.post(f"/runs/{done.pk}/retry", follow=True).content.decode()
    assert "only failed and cancelled ones can be retried" in said


@pytest.mark.parametrize("address", ["/studies/{}/explode", "/runs/{}/explode"])
def test_unknown_actions_do_not_exist(as_owner: Client, study: Study, address: str) -> None:
    pk = study.pk if "studies" in address else lab.runs_in_order(study)[0].pk
    assert as_owner.post(address.format(pk)).status_code == 404
    assert as_owner.get(address.format(pk)).status_code == 405
