"""Accounts in the browser: invited with a link, created, reset, changed, and what each person used."""

from __future__ import annotations

import re
import uuid
from datetime import timedelta

import pytest
from django.test import Client

from experiments.models import Attempt, AuditEntry, Run, User
from tests.experiments import lab

PASSWORD = "rivers-and-streams"


def secret_on(page: bytes) -> str:
    match = re.search(r'<code id="secret">(.+?)</code>', page.decode())
    assert match
    return match[1]


def choose(address: str, password: str = PASSWORD) -> Client:
    """A stranger's browser that follows a link and chooses that password."""
    browser = Client()
    form = browser.get(address.removeprefix("http://testserver"), follow=True)
    browser.post(form.request["PATH_INFO"], {"new_password1": password, "new_password2": password})
    return browser


def test_an_invited_person_chooses_a_password_and_is_inside(browsers: dict[str, Client]) -> None:
    answer = browsers["admin"].post("/people/new", {"name": " nora ", "role": "viewer", "how": "link"})
    address = secret_on(answer.content)
    assert address.startswith("http://testserver/choose-password/")
    assert "no-store" in answer.headers["Cache-Control"]
    nora = User.objects.get(username="nora")
    assert (nora.role, nora.has_usable_password()) == ("viewer", False)
    assert 'title="Has yet to choose a password">invited</span>' in browsers["admin"].get("/people").content.decode()
    browser = choose(address)
    assert browser.get("/me").status_code == 200
    nora.refresh_from_db()
    assert nora.check_password(PASSWORD)
    entries = AuditEntry.objects.order_by("pk").values_list("actor_name", "action", "subject")
    assert list(entries) == [
        ("boss", "user.invite", "user nora"),
        ("nora", "user.password", "user nora"),
        ("nora", "log-in", "nora"),
    ]


def test_a_link_works_once(browsers: dict[str, Client]) -> None:
    address = secret_on(browsers["admin"].post("/people/new", {"name": "nora", "role": "member"}).content)
    choose(address)
    page = Client().get(address, follow=True).content.decode()
    assert "This link has ended" in page
    choose(address, "another-password")
    assert User.objects.get(username="nora").check_password(PASSWORD)


def test_a_link_of_a_disabled_person_leads_nowhere(browsers: dict[str, Client], owner: User) -> None:
    address = secret_on(browsers["admin"].post(f"/people/{owner.pk}/password-link").content)
    browsers["admin"].post(f"/people/{owner.pk}/disable")
    assert "This link has ended" in Client().get(address, follow=True).content.decode()
    refused = browsers["admin"].post(f"/people/{owner.pk}/password-link")
    assert refused.status_code == 409
    assert "owner is disabled: enable the account first." in refused.content.decode()


def test_a_forgotten_password_is_reset_and_the_old_one_works_until_then(
    browsers: dict[str, Client], owner: User
) -> None:
    owner.set_password("the-old-password")
    owner.save()
    address = secret_on(browsers["admin"].post(f"/people/{owner.pk}/password-link").content)
    assert User.objects.get(pk=owner.pk).check_password("the-old-password")
    choose(address)
    assert User.objects.get(pk=owner.pk).check_password(PASSWORD)
    assert AuditEntry.objects.filter(actor_name="boss", action="user.password-link", subject="user owner").exists()


def test_a_weak_password_is_refused_with_the_reason_and_the_link_stays(browsers: dict[str, Client]) -> None:
    address = secret_on(browsers["admin"].post("/people/new", {"name": "nora", "role": "member"}).content)
    browser = Client()
    form = browser.get(address, follow=True).request["PATH_INFO"]
    page = browser.post(form, {"new_password1": "nora", "new_password2": "nora"}).content.decode()
    assert "This password is too short." in page
    assert choose(address).get("/me").status_code == 200


def test_an_account_is_created_with_a_password_that_is_shown_once(browsers: dict[str, Client]) -> None:
    answer = browsers["admin"].post("/people/new", {"name": "nora", "role": "member", "how": "password"})
    password = secret_on(answer.content)
    assert User.objects.get(username="nora").check_password(password)
    assert password not in browsers["admin"].get("/people").content.decode()


@pytest.mark.parametrize(
    ("name", "role", "reason"),
    [("a b", "member", "Enter a valid username."), ("owner", "member", "already exists"), ("nora", "king", "is not a")],
)
def test_what_cannot_be_is_told_and_stays_typed(browsers: dict[str, Client], name: str, role: str, reason: str) -> None:
    answer = browsers["admin"].post("/people/new", {"name": name, "role": role})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert reason in page
    assert f'value="{name}"' in page
    assert User.objects.count() == 4


def test_a_person_changes_their_password_and_stays_logged_in(as_owner: Client, owner: User) -> None:
    owner.set_password("the-old-password")
    owner.save()
    as_owner.force_login(owner)
    form = {"old_password": "wrong", "new_password1": PASSWORD, "new_password2": PASSWORD}
    assert "Your old password was entered incorrectly" in as_owner.post("/me/password", form).content.decode()
    said = as_owner.post("/me/password", {**form, "old_password": "the-old-password"}, follow=True).content.decode()
    assert "Your password is changed." in said
    assert User.objects.get(pk=owner.pk).check_password(PASSWORD)
    assert AuditEntry.objects.get().action == "user.password"


def test_usage_is_told_of_whoever_launched_first(browsers: dict[str, Client], owner: User, stranger: User) -> None:
    study = lab.launched(owner)
    lab.launched(stranger, "The same again")
    runs = lab.runs_in_order(study)
    for number, (run, hours, device) in enumerate([(runs[0], 2, "cpu"), (runs[0], 1, "cpu"), (runs[1], 5, "cuda")]):
        Run.objects.filter(pk=run.pk).update(device_type=device)
        ended = lab.NOON + timedelta(hours=hours)
        Attempt.objects.create(
            run=run, number=number, token=uuid.uuid4(), worker="w", started=lab.NOON, ended=ended, outcome="done"
        )
    page = browsers["admin"].get("/people").content.decode()
    row = page.partition(f'id="person-{owner.pk}"')[2].partition("</tr>")[0]
    assert re.findall(r'<td class="num">([\d,.]+)<', row) == ["1", "6", "3.0", "5.0", "0"]
    other = page.partition(f'id="person-{stranger.pk}"')[2].partition("</tr>")[0]
    assert re.findall(r'<td class="num">([\d,.]+)<', other) == ["1", "0", "0", "0", "0"]
    assert "6 runs, 3.0 CPU hours, 5.0 GPU hours" in browsers["owner"].get("/me").content.decode()
