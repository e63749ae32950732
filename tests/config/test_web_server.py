"""The running web server, attacked by people whom nobody knows."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest
from config.processes import web_command
from config.services.server import port_of, reserve_port
from django.test import Client

from experiments.access.services.share_links import link_create
from experiments.access.services.tokens import token_create
from experiments.models import AuditEntry, Role, User
from tests.experiments import lab
from tests.live import LivePlatform, answers, pieces_taken

pytestmark = pytest.mark.django_db(transaction=True)
LARGE = b"x" * 1_000_000


@pytest.fixture(scope="module")
def web(live_platform: LivePlatform) -> LivePlatform:
    return live_platform


@pytest.fixture
def owner(web: LivePlatform) -> User:
    return User.objects.create(username="owner", role=Role.MEMBER)


@pytest.fixture
def visitor(web: LivePlatform) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=web.base_url, timeout=60) as client:
        yield client


def connect(web: LivePlatform) -> socket.socket:
    address = urlsplit(web.base_url)
    return socket.create_connection((address.hostname or "", address.port or 80), timeout=30)


def test_a_hundred_megabytes_of_header_are_not_taken(web: LivePlatform) -> None:
    with connect(web) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: ")
        assert pieces_taken(connection, LARGE, 100) < 20
    assert answers(web.base_url)


@pytest.mark.parametrize(
    "path", ["/data-sets/npz/upload", "/apps/upload", "/api/v1/apps", "/log-in", "/api/v1/studies"]
)
def test_a_strangers_large_body_is_not_read(web: LivePlatform, path: str) -> None:
    with connect(web) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: sessionid=made-up\r\nContent-Length: 900000\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 401 ")
        assert pieces_taken(connection, LARGE, 100) < 100


def test_an_upload_is_read_from_admins_only(web: LivePlatform, visitor: httpx.Client) -> None:
    people = [User.objects.create(username=role, role=role) for role in Role.values]
    tokens = [token_create(owner=person, name="script", scope="write")[1] for person in people]
    tokens.append(token_create(owner=people[-1], name="script", scope="read")[1])
    sent = [
        visitor.post("/api/v1/apps", files={"file": ("a.zip", LARGE)}, headers={"Authorization": f"Bearer {token}"})
        for token in tokens
    ]
    assert [answer.status_code for answer in sent] == [403, 403, 422, 403]
    assert sent[0].json()["detail"] == "Only an admin may upload: nothing of this was read."
    browser = Client()
    browser.force_login(people[1])
    cookie = {"Cookie": f"sessionid={browser.cookies['sessionid'].value}"}
    assert visitor.post("/apps/upload", files={"file": ("a.zip", LARGE)}, headers=cookie).status_code == 403


def test_many_readers_of_a_shared_page_leave_connections_for_the_lab(web: LivePlatform, owner: User) -> None:
    study = lab.launched(owner)
    for run in lab.runs_in_order(study):
        lab.record(run, {"accuracy": [0.1, 0.5, 0.9]})
    _, secret = link_create(owner=owner, query=f"study={study.pk}")

    def look(number: int) -> int:
        path = "/healthz" if number % 15 == 7 else f"/shared/{secret}"
        return httpx.get(f"{web.base_url}{path}", headers={"Cookie": f"sessionid={number}"}, timeout=60).status_code

    with ThreadPoolExecutor(150) as visitors:
        assert Counter(visitors.map(look, range(150))) == {200: 150}


def log_in_from(base_url: str, address: str) -> str:
    """The address that is noted for a failed log-in that says it came from there."""
    with httpx.Client(base_url=base_url, timeout=60, headers={"X-Forwarded-For": address}) as client:
        token = client.get("/log-in").cookies["csrftoken"]
        client.post("/log-in", data={"username": "x", "password": "y", "csrfmiddlewaretoken": token})
    entry = AuditEntry.objects.latest("pk")
    return str(entry.detail["address"])


def test_an_address_is_believed_only_of_a_declared_proxy(web: LivePlatform, monkeypatch: pytest.MonkeyPatch) -> None:
    assert log_in_from(web.base_url, "203.0.113.9") == "127.0.0.1"
    monkeypatch.setenv("TRIBUTARY_TRUSTED_PROXIES", "127.0.0.1,10.0.0.0/8")
    with reserve_port() as holder:
        port = port_of(holder)
        web.start("web-behind-proxy", web_command("127.0.0.1", port))
        web.wait_for("web-behind-proxy", lambda: answers(f"http://127.0.0.1:{port}"))
    try:
        assert log_in_from(f"http://127.0.0.1:{port}", "198.51.100.7, 203.0.113.9, 10.1.2.3") == "203.0.113.9"
    finally:
        web.stop("web-behind-proxy")
