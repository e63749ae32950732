"""What the other tests stand on is real."""

import json
import socket
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from urllib.parse import urlsplit

import pytest
import redis
from django.contrib.auth import get_user_model
from django.db import connection, transaction

from tests.live import eventually


@pytest.mark.django_db
def test_the_database_is_postgresql_18_and_has_our_tables():
    get_user_model().objects.create_user("ada", password="x")
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::integer / 10000, count(*) FROM experiments_user")
        assert cursor.fetchone() == (18, 1)


def test_redis_answers(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        assert client.ping() is True


def test_the_live_platform_shares_the_database_with_the_tests(live_platform):
    get_user_model().objects.create_user("ada", password="x")
    with urllib.request.urlopen(f"{live_platform.base_url}/healthz") as reply:
        assert json.load(reply) == {"status": "ok", "database": "ok", "broker": "ok", "disk": "ok", "workers": 1}


def test_the_live_server_refuses_a_body_that_would_fill_its_disk(live_platform):
    address = urlsplit(live_platform.base_url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as line:
        line.sendall(b"POST /log-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50000000000\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.django_db(transaction=True)
def test_emptying_the_database_gives_way_to_a_process_that_would_deadlock_with_it() -> None:
    """The other holds what is emptied last and then asks for what is emptied first."""
    with ThreadPoolExecutor(1) as others:
        holds = Event()
        other = others.submit(lock_last_then_first, holds)
        assert holds.wait(10)
        connection.ops.execute_sql_flush(["TRUNCATE experiments_attempt, experiments_run CASCADE"])
        assert other.result() == "had both"


def lock_last_then_first(holds: Event) -> str:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE experiments_run IN ROW EXCLUSIVE MODE")
            holds.set()
            waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'experiments_run'::regclass AND NOT granted)"
            eventually(lambda: bool(cursor.execute(waits) or cursor.fetchone()[0]), 10)
            cursor.execute("LOCK TABLE experiments_attempt IN ROW EXCLUSIVE MODE")
        return "had both"
    finally:
        connection.close()
