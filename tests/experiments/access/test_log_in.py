from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client

from experiments.models import AuditEntry, User

pytestmark = pytest.mark.django_db
PASSWORD = "river-and-stream"


@pytest.fixture
def mira() -> User:
    return User.objects.create_user("mira", password=PASSWORD)


def log_in(client: Client, name: str, password: str, address: str = "10.0.0.1") -> int:
    return client.post("/log-in", {"username": name, "password": password}, REMOTE_ADDR=address).status_code


@pytest.mark.parametrize("name", ["mira", "nobody-of-that-name"])
def test_five_failures_close_the_door_for_that_name_from_there(mira: User, client: Client, name: str) -> None:
    assert [log_in(client, name, "guess") for _ in range(6)] == [200, 200, 200, 200, 200, 429]
    assert log_in(client, name, PASSWORD) == 429
    assert log_in(client, name.upper(), PASSWORD) == 429


def test_a_colleague_elsewhere_is_not_locked_out(mira: User, client: Client) -> None:
    assert [log_in(client, "mira", "guess") for _ in range(6)][-1] == 429
    assert log_in(client, "mira", PASSWORD, address="10.0.0.2") == 302


def test_an_address_that_tries_many_names_is_shut_out(mira: User, client: Client) -> None:
    assert [log_in(client, f"name-{number}", "guess") for number in range(30)] == [200] * 30
    assert log_in(client, "mira", PASSWORD) == 429


def test_a_name_that_is_tried_from_everywhere_is_shut(mira: User, client: Client) -> None:
    assert {log_in(client, "mira", "guess", address=f"10.0.1.{number}") for number in range(60)} == {200}
    assert log_in(client, "mira", PASSWORD) == 429


def test_the_door_opens_again_after_a_quarter_of_an_hour(mira: User, client: Client) -> None:
    for _ in range(6):
        log_in(client, "mira", "guess")
    AuditEntry.objects.update(at=F("at") - timedelta(minutes=16))
    assert log_in(client, "mira", PASSWORD) == 302


def test_a_success_forgives_the_failures_before_it(mira: User, client: Client) -> None:
    assert [log_in(client, "mira", "guess") for _ in range(4)] == [200] * 4
    assert log_in(client, "mira", PASSWORD) == 302
    other = Client()
    assert [log_in(other, "mira", "guess") for _ in range(5)] == [200] * 5
    assert log_in(other, "mira", PASSWORD) == 429


def test_a_closed_door_says_how_long(mira: User, client: Client) -> None:
    for _ in range(5):
        log_in(client, "mira", "guess")
    answer = client.post("/log-in", {"username": "mira", "password": PASSWORD}, REMOTE_ADDR="10.0.0.1")
    assert answer["Retry-After"] == "900"
    assert b"Wait 15 minutes" in answer.content


def test_log_ins_are_in_the_audit_log_and_passwords_are_not(mira: User, client: Client) -> None:
    log_in(client, "mira", "guess-4711")
    log_in(client, "mira", PASSWORD)
    entries = list(AuditEntry.objects.order_by("id").values_list("action", "subject", "detail"))
    assert entries == [
        ("log-in.failed", "mira", {"address": "10.0.0.1"}),
        ("log-in", "mira", {"address": "10.0.0.1"}),
    ]
