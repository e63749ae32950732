"""Exports from a real web server: with a token, to the end and broken off."""

import csv
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from io import StringIO
from urllib.parse import urlsplit

import pytest
from django.db import connection

from experiments.access.services.tokens import token_create
from experiments.models import Run, Study, User
from experiments.results.services.curves import insert_from_rows
from tests.experiments.lab import launched, runs_in_order
from tests.live import LivePlatform

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 100_000
FILL = insert_from_rows(
    "SELECT %s AS run_id, i AS round, 'loss' AS name, i::float8 AS value FROM generate_series(1, %s) i"
)


@pytest.fixture
def study(owner: User, live_platform: LivePlatform) -> Study:
    """One run of very many rounds: more than sockets hold on their way."""
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[1])
    (run,) = runs_in_order(study)
    Run.objects.filter(pk=run.pk).update(rounds_done=ROUNDS)
    with connection.cursor() as cursor:
        cursor.execute(FILL, [run.pk, ROUNDS])
    return study


@contextmanager
def open_export(live: LivePlatform, study: Study, kind: str) -> Iterator[HTTPResponse]:
    address = urlsplit(live.base_url)
    client = HTTPConnection(address.hostname or "", address.port, timeout=60)
    _, secret = token_create(owner=study.owner, name="a script")
    try:
        client.request(
            "GET",
            f"/api/v1/metrics?study={study.pk}&format={kind}",
            headers={"Authorization": f"Bearer {secret}", "Connection": "close"},
        )
        with client.getresponse() as answer:  # which holds the socket open as long as it is
            yield answer
    finally:
        client.close()


def test_a_long_run_comes_whole_and_in_order(live_platform: LivePlatform, study: Study) -> None:
    with open_export(live_platform, study, "csv") as answer:
        header, *rows = csv.reader(StringIO(answer.read().decode()))
    assert header[4:] == ["round", "metric", "value"]
    assert [int(row[4]) for row in rows] == list(range(1, ROUNDS + 1))


def test_a_reader_that_leaves_in_the_middle_frees_its_transaction(live_platform: LivePlatform, study: Study) -> None:
    with open_export(live_platform, study, "ndjson") as answer:
        assert answer.read(1000)
        assert open_copies() == 1
    deadline = time.monotonic() + 60
    while open_copies():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def open_copies() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND xact_start IS NOT NULL")
        return int(cursor.fetchone()[0])
