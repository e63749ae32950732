"""Slow, endless and silent senders against a real server, whose patience is a fraction of a second."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from config.http_limits import MOST_HEAD_BYTES
from config.http_protocol import LimitedProtocol

from tests.live import pieces_taken

HEAVY = 15_000_000


class Impatient(LimitedProtocol):
    head_seconds = 0.3
    body_seconds = 0.3
    read_seconds = 0.3
    most_waiting = 3


class Narrow(LimitedProtocol):
    most_unread = 20_000_000


class Server:
    def __init__(self, protocol: type[LimitedProtocol] = Impatient) -> None:
        config = uvicorn.Config(
            self.application,
            port=0,
            lifespan="off",
            interface="asgi3",
            timeout_keep_alive=1,
            log_level="error",
            http=protocol,
            ws="none",
            h11_max_incomplete_event_size=MOST_HEAD_BYTES,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive()).get("more_body"):
            pass
        if message["type"] == "http.disconnect":
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/large":
            for _ in range(1_000):
                await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        if scope["path"] == "/events":
            for _ in range(4):
                await asyncio.sleep(0.2)
                await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"x" * HEAVY if scope["path"] == "/heavy" else b"whole"})

    @property
    def port(self) -> int:
        return int(self.server.servers[0].sockets[0].getsockname()[1])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server(Impatient) as running:
        yield running


@contextmanager
def running_server(protocol: type[LimitedProtocol]) -> Iterator[Server]:
    running = Server(protocol)
    running.thread.start()
    while not running.server.started:
        time.sleep(0.01)
    yield running
    running.server.should_exit = running.server.force_exit = True
    running.thread.join(10)


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


def read_to_end(connection: socket.socket) -> bytes:
    """Whatever comes until the server closes; waits for that as long as a test may."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def answer_to(server: Server, *parts: bytes) -> bytes:
    with connect(server) as connection:
        for part in parts:
            connection.sendall(part)
        return read_to_end(connection)


SECOND = b"GET / HTTP/1.1\r\nHost: lab\r\n\r\nGET / HT"
POST = b"POST / HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (b"GET / HT",),
        (b"GET / HTTP/1.1\r\nHost: lab\r\nX-Half: ",),
        (POST + b"Content-Length: 1000\r\n\r\n", b"half"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nhel"),
        (SECOND,),
    ],
    ids=["nothing", "half a line", "half a header", "half a body", "half a chunk", "half a second request"],
)
def test_a_sender_that_stops_is_disconnected(server: Server, parts: tuple[bytes, ...]) -> None:
    assert answer_to(server, *parts).count(b"whole") == parts[-1:].count(SECOND)


def test_a_slow_sender_is_told_why(server: Server) -> None:
    told = answer_to(server, POST + b"Content-Length: 1000\r\n\r\n", b"half")
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"The request took too long to arrive. Send it again." in told


def test_a_body_that_comes_byte_by_byte_is_not_waited_for(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(POST + b"Content-Length: 1000\r\n\r\n")
        assert pieces_taken(connection, b"x", 1000, pause=0.02) < 1000


def test_a_body_that_keeps_coming_is_taken(server: Server) -> None:
    pieces = [b"x" * 10_000] * 20
    assert answer_to(server, POST + b"Content-Length: 200000\r\n\r\n", *pieces).endswith(b"whole\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "head", [b"GET /" + b"x" * 70_000, b"GET / HTTP/1.1\r\nHost: lab\r\nX-Large: " + b"x" * 70_000]
)
def test_a_head_that_is_too_large_is_refused_before_it_is_whole(server: Server, head: bytes) -> None:
    told = answer_to(server, head)
    assert told.startswith(b"HTTP/1.1 431 ")
    assert b"larger than 64 kB" in told


def test_a_hundred_megabytes_of_header_are_not_taken(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: lab\r\nX-Large: ")
        assert pieces_taken(connection, b"x" * 1_000_000, 100) < 20


def test_whoever_waits_longest_makes_room(server: Server) -> None:
    silent = [connect(server) for _ in range(3)]
    time.sleep(0.05)
    fourth = connect(server)
    assert read_to_end(silent[0]) == b""
    fourth.sendall(b"GET / HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n")
    assert read_to_end(fourth).endswith(b"whole\r\n0\r\n\r\n")
    for connection in (*silent, fourth):
        connection.close()


def test_a_reader_that_does_not_read_is_disconnected(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: lab\r\n\r\n")
        deadline = time.monotonic() + 20
        while len(server.server.server_state.connections) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not server.server.server_state.connections


def test_answers_that_nobody_reads_make_room_the_oldest_first() -> None:
    with running_server(Narrow) as server:
        readers = []
        for _ in range(3):
            readers.append(connect(server))
            readers[-1].sendall(b"GET /heavy HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n")
            time.sleep(0.2)
        sizes = [len(read_to_end(reader)) for reader in readers]
        for reader in readers:
            reader.close()
    assert sizes[0] < HEAVY
    assert sizes[2] > HEAVY


def test_a_stream_that_is_quiet_for_longer_than_a_sender_may_be_stays_open(server: Server) -> None:
    told = answer_to(server, b"GET /events HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n")
    assert told.count(b"data: 1") == 4
