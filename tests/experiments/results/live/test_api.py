"""The stream over HTTP: a real web server, rounds committed by this test."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.test import Client

from experiments.access.services.passwords import record_new_password
from experiments.access.services.people import user_set_active, user_set_role
from experiments.access.services.tokens import token_create, token_revoke
from experiments.models import User
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, rounds_record, run_finish
from experiments.queue.services.workers import worker_enlist
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform
from workers.engine.records import RoundRecord

pytestmark = pytest.mark.django_db(transaction=True)
Block = dict[str, Any]


@pytest.fixture(scope="module")
def web(live_platform: LivePlatform) -> LivePlatform:
    """Without its worker, so that nobody else takes the runs."""
    live_platform.stop("worker-1", "scheduler")
    return live_platform


@pytest.fixture
def cookie(owner: User) -> str:
    client = Client()
    client.force_login(owner)
    return f"sessionid={client.cookies['sessionid'].value}"


@pytest.fixture
def claim(owner: User, block: Block, web: LivePlatform) -> Claim:
    study_launch(owner=owner, name="Live", blocks=[{**block, "strategy": {"name": "fedavg"}, "seeds": 1}])
    worker = worker_enlist(name="test@lab", host="lab", device="cpu", threads=1)
    claim = run_claim(worker=worker)
    assert claim
    return claim


@contextmanager
def opened(web: LivePlatform, path: str, cookie: str, last: str = "", **headers: str) -> Iterator[HTTPResponse]:
    address = urlsplit(web.base_url)
    client = HTTPConnection(address.hostname or "", address.port, timeout=60)
    try:
        client.request("GET", path, headers={"Cookie": cookie, "Last-Event-ID": last, **headers})
        yield client.getresponse()
    finally:
        client.close()


def next_event(stream: HTTPResponse) -> dict[str, Any]:
    fields: dict[str, str] = {}
    while True:
        line = stream.readline().decode().rstrip("\n")
        if not line and "data" in fields:
            return {**json.loads(fields["data"]), "id": fields["id"], "name": fields["event"]}
        name, _, value = line.partition(": ")
        fields[name] = value


def record(claim: Claim, *rounds: int) -> None:
    rounds_record(claim=claim, records=[RoundRecord(number, {"accuracy": number / 10}) for number in rounds])


def test_commits_arrive_as_events(web: LivePlatform, claim: Claim, cookie: str) -> None:
    with opened(web, f"/api/v1/events?run={claim.run}", cookie) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        hello = next_event(stream)
        assert (hello["name"], hello["pace"]) == ("hello", 0.025)
        record(claim, 0, 1)
        run_finish(claim=claim, provenance={})
        heard = [next_event(stream) for _ in range(3)]
    assert [(each["name"], each.get("round"), each.get("metrics")) for each in heard] == [
        ("metric", 0, {"accuracy": 0.0}),
        ("metric", 1, {"accuracy": 0.1}),
        ("state", None, None),
    ]
    assert (heard[2]["state"], heard[2]["rounds_done"], heard[2]["run"]) == ("done", 1, claim.run)


def test_a_reader_that_comes_back_gets_each_round_once(web: LivePlatform, claim: Claim, cookie: str) -> None:
    with opened(web, "/api/v1/events", cookie) as stream:
        next_event(stream)
        record(claim, 0, 1)
        last = [next_event(stream) for _ in range(2)][-1]["id"]
    record(claim, 2, 3)
    with opened(web, "/api/v1/events", cookie, last) as stream:
        heard = [next_event(stream) for _ in range(4)]
        assert [each["name"] for each in heard] == ["hello", "metric", "metric", "state"]
        assert [each["round"] for each in heard[1:3]] == [2, 3]
        record(claim, 3, 4)
        assert next_event(stream)["round"] == 4


def test_a_stream_hears_only_its_study(web: LivePlatform, claim: Claim, cookie: str, owner: User, block: Block) -> None:
    other = study_launch(owner=owner, name="Other", blocks=[{**block, "rounds": 9}])
    with opened(web, f"/api/v1/events?study={other.pk}", cookie) as stream:
        next_event(stream)
        record(claim, 0)
        worker = worker_enlist(name="other@lab", host="lab", device="cpu", threads=1)
        second = run_claim(worker=worker)
        assert second
        heard = next_event(stream)
    assert (heard["name"], heard["run"], heard["studies"]) == ("state", second.run, [other.pk])


def test_a_program_listens_with_its_token(web: LivePlatform, claim: Claim, owner: User) -> None:
    _, secret = token_create(owner=owner, name="a script")
    with opened(web, "/api/v1/events", "", Authorization=f"Bearer {secret}") as stream:
        assert next_event(stream)["name"] == "hello"
        record(claim, 0)
        assert next_event(stream)["round"] == 0


def connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def test_two_hundred_streams_cost_no_database_connection_each(web: LivePlatform, claim: Claim, cookie: str) -> None:
    with opened(web, "/api/v1/events", cookie) as first, ExitStack() as streams:
        next_event(first)
        alone = connections()
        readers = [streams.enter_context(opened(web, "/api/v1/events", cookie)) for _ in range(200)]
        for reader in readers:
            next_event(reader)
        # Requests that are just ending hold one for a moment, so the count may be off by a few; 200 streams would show.
        assert abs(connections() - alone) <= 2
        record(claim, 0)
        assert {next_event(reader)["round"] for reader in readers} == {0}


@pytest.mark.parametrize("change", ["revoke", "shut out", "another role"])
def test_a_stream_ends_with_the_right_to_read_it(
    web: LivePlatform, claim: Claim, owner: User, admin: User, change: str
) -> None:
    (token, secret), (_, other) = (token_create(owner=who, name="a script") for who in (owner, admin))
    with (
        opened(web, "/api/v1/events", "", Authorization=f"Bearer {secret}") as stream,
        opened(web, "/api/v1/events", "", Authorization=f"Bearer {other}") as untouched,
    ):
        for each in (stream, untouched):
            next_event(each)
        if change == "revoke":
            token_revoke(token=token, actor=owner)
        elif change == "shut out":
            user_set_active(user=owner, active=False, actor=admin)
        else:
            user_set_role(user=owner, role="viewer", actor=admin)
        assert stream.read().strip() == b""
        record(claim, 0)
        assert next_event(untouched)["round"] == 0


def test_a_stream_ends_with_the_password_of_its_session(web: LivePlatform, owner: User) -> None:
    owner.set_password("old password of mine")
    owner.save()
    client = Client()
    client.force_login(owner)
    with opened(web, "/api/v1/events", f"sessionid={client.cookies['sessionid'].value}") as stream:
        next_event(stream)
        owner.set_password("new password of mine")
        owner.save()
        record_new_password(user=owner)
        assert stream.read().strip() == b""


def test_of_rounds_that_come_together_a_page_hears_the_last(web: LivePlatform, claim: Claim, cookie: str) -> None:
    with opened(web, "/api/v1/events?latest=1", cookie) as stream:
        assert next_event(stream)["name"] == "hello"
        record(claim, 0, 1, 2, 3)
        heard = next_event(stream)
        assert (heard["name"], heard["round"]) == ("metric", 3)
        last = heard["id"]
    record(claim, 4, 5)
    with opened(web, "/api/v1/events?latest=1", cookie, last) as stream:
        assert [next_event(stream).get("round") for _ in range(2)] == [None, 5]
