from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
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


@pytest.mark.django_db(transaction=True)
def test_of_guesses_that_come_at_once_no_more_are_looked_at(mira: User) -> None:
    def guess(_: int) -> int:
        try:
            return log_in(Client(), "mira", "guess")
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as guessers:
        assert Counter(guessers.map(guess, range(30))) == {200: 5, 429: 25}


def test_a_browser_that_was_used_before_is_not_shut_out_by_strangers(mira: User, client: Client) -> None:
    """Behind a proxy or a router that hides addresses, everybody in the lab has one."""
    assert log_in(client, "mira", PASSWORD) == 302
    client.post("/log-out")
    assert [log_in(Client(), f"name-{number}", "guess") for number in range(31)][-1] == 429
    assert log_in(Client(), "mira", PASSWORD) == 429
    assert log_in(client, "mira", PASSWORD) == 302


def test_a_browser_that_was_used_before_guesses_no_more_than_any(mira: User, client: Client) -> None:
    log_in(client, "mira", PASSWORD)
    client.post("/log-out")
    assert [log_in(client, "mira", "guess") for _ in range(6)] == [200] * 5 + [429]
    assert log_in(client, "mira", PASSWORD) == 429


def test_a_browser_is_known_for_the_name_that_used_it_only(mira: User, client: Client) -> None:
    User.objects.create_user("noor", password=PASSWORD)
    log_in(client, "mira", PASSWORD)
    client.post("/log-out")
    assert [log_in(Client(), f"name-{number}", "guess") for number in range(31)][-1] == 429
    assert log_in(client, "noor", PASSWORD) == 429
    client.cookies["device"] = "made-up"
    assert log_in(client, "mira", PASSWORD) == 429
