"""Two web processes behind one port: both serve, one that is killed comes back, and together they keep every limit."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from config.env import ROOT
from config.http_limits import web_share
from config.request_slots import RequestSlots
from config.services.server import port_of, reserve_port
from config.web_host import web_names
from pytest_django import Settings

from experiments.access.services.tokens import token_create
from experiments.models import Role, User
from tests.live import LivePlatform, answers, eventually

NAME = "web-of-two"
Metrics = Callable[[], dict[str, float]]


@pytest.fixture(scope="module")
def pair(live_platform: LivePlatform) -> Iterator[str]:
    """The address of the two."""
    with reserve_port() as holder:
        port = port_of(holder)
        command = [sys.executable, str(ROOT / "manage.py"), "web"]
        live_platform.start(NAME, command, WEB_PROCESSES="2", HOST="127.0.0.1", PORT=str(port))
    base_url = f"http://127.0.0.1:{port}"
    live_platform.wait_for(NAME, lambda: answers(base_url) and len(servers(live_platform)) == 2)
    yield base_url
    live_platform.stop(NAME)


def servers(platform: LivePlatform) -> dict[int, psutil.Process]:
    return {each.pid: each for each in psutil.Process(platform.processes[NAME].pid).children()}


@pytest.fixture
def read_metrics(pair: str, transactional_db: None) -> Metrics:
    _, token = token_create(owner=User.objects.create(username="prometheus", role=Role.VIEWER), name="p", scope="read")

    def read() -> dict[str, float]:
        text = httpx.get(f"{pair}/metrics", headers={"Authorization": f"Bearer {token}"}, timeout=60).text
        samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in samples}

    return read


def test_what_is_for_all_together_is_divided(settings: Settings) -> None:
    async def application(*_: object) -> None: ...

    settings.WEB_PROCESSES = 1
    alone = RequestSlots(application, 32)
    settings.WEB_PROCESSES = 4
    shared = RequestSlots(application, 32)

    assert (alone.slots.most, alone.slots.each, alone.health_slots.most) == (32, 8, 2)
    assert (shared.slots.most, shared.slots.each, shared.health_slots.most) == (8, 2, 1)
    assert [web_share(total) for total in (1, 4, 9, 100)] == [1, 1, 2, 25]
    assert [web_names(count) for count in (1, 3)] == [["web"], ["web", "web-2", "web-3"]]


def test_both_answer_and_what_they_count_is_told_as_one(pair: str, read_metrics: Metrics) -> None:
    health = 'tributary_request_seconds_count{method="GET",route="/healthz",status="2xx"}'
    before = read_metrics()
    for _ in range(40):
        assert httpx.get(f"{pair}/healthz").status_code == 200
    after = read_metrics()

    assert after[health] == before[health] + 40
    assert after["tributary_web_processes"] == 2
    assert after["tributary_web_process_resident_memory_bytes"] > 100e6


def test_a_connection_is_told_apart_from_others_and_its_head_is_limited(pair: str) -> None:
    """Whichever process takes it."""
    place = urlsplit(pair)
    for _ in range(6):
        with socket.create_connection((place.hostname or "", place.port or 80), timeout=30) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: " + b"x" * 70_000)  # and no end
            assert connection.recv(65_536).startswith(b"HTTP/1.1 431 ")


def test_one_that_is_killed_comes_back_while_the_other_serves(
    pair: str, live_platform: LivePlatform, read_metrics: Metrics
) -> None:
    counted = re.compile(r'^tributary_request_seconds_count\{.*route="/healthz"')
    before = sum(value for name, value in read_metrics().items() if counted.match(name))
    victim, survivor = servers(live_platform)
    psutil.Process(victim).kill()
    psutil.Process(victim).wait(10)

    statuses = [httpx.get(f"{pair}/healthz", timeout=20).status_code for _ in range(20)]
    assert statuses == [200] * 20
    eventually(lambda: len(servers(live_platform)) == 2 and victim not in servers(live_platform))
    assert survivor in servers(live_platform)
    after = sum(value for name, value in read_metrics().items() if counted.match(name))
    assert after == before + 20
