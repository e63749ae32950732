"""Whoever is logged out loses nothing, and whoever follows a link to a button gets a page."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from experiments.access.services.share_links import link_create, link_revoke
from experiments.models import Study, User

PASSWORD = "river-and-stream"


@pytest.mark.parametrize("header", ["HX-Request", "X-Requested-With"])
def test_scripts_are_told_and_get_no_page(study: Study, header: str) -> None:
    answer = Client(headers={header: "true"}).get(f"/studies/{study.pk}")
    assert answer.status_code == 401
    assert answer.json() == {"detail": "You are logged out: log in.", "errors": []}


def test_a_form_sent_too_late_can_be_sent_again_after_the_log_in(study: Study, owner: User) -> None:
    owner.set_password(PASSWORD)
    owner.save()
    browser, edit = Client(), f"/studies/{study.pk}/edit"
    sent = {"name": "Kept & safe", "tags": "a", "description": "two\nlines", "password": "not this"}
    late = browser.post(edit, sent, headers={"Referer": f"http://testserver/studies/{study.pk}"})
    assert late.status_code == 401
    page = late.content.decode()
    assert "What you typed is kept" in page
    unsent = re.search(r'name="unsent" value="(.+?)"', page)
    assert unsent
    wrong = browser.post("/log-in", {"username": "owner", "password": "wrong", "unsent": unsent[1]}).content.decode()
    assert unsent[1] in wrong
    again = browser.post("/log-in", {"username": "owner", "password": PASSWORD, "unsent": unsent[1]}).content.decode()
    assert f'action="{edit}"' in again
    assert '<input type="hidden" name="name" value="Kept &amp; safe">' in again
    assert "not this" not in again
    assert f'href="/studies/{study.pk}"' in again
    study.refresh_from_db()
    assert study.name == "Two strategies"


def test_a_form_that_was_tampered_with_is_forgotten(owner: User) -> None:
    owner.set_password(PASSWORD)
    owner.save()
    answer = Client().post("/log-in", {"username": "owner", "password": PASSWORD, "unsent": "made:up:text"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")


def test_logging_out_twice_leads_to_the_log_in(db: None) -> None:
    assert Client().post("/log-out").headers["Location"].startswith("/log-in")


def test_the_address_of_a_button_is_a_friendly_page(as_owner: Client, study: Study) -> None:
    answer = as_owner.get(f"/studies/{study.pk}/cancel", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "This address is a button, not a page" in answer.content.decode()
    assert as_owner.get(f"/studies/{study.pk}/cancel").content == b""


def test_a_link_that_has_ended_says_so_and_one_that_never_was_says_that(study: Study) -> None:
    link, secret = link_create(owner=study.owner, query=f"study={study.pk}")
    link_revoke(link=link, actor=study.owner)
    ended = Client().get(f"/shared/{secret}")
    assert ended.status_code == 410
    assert "This link has ended" in ended.content.decode()
    assert ended.headers["Cache-Control"] == "private, no-store"
    unknown = Client().get("/shared/nothing")
    assert unknown.status_code == 404
    assert "Perhaps it was not copied whole" in unknown.content.decode()
