"""What the server takes in before any page sees it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from config.http_limits import (
    MOST_ADDRESS_BYTES,
    MOST_BODY_BYTES,
    MOST_LARGE_BODIES,
    MOST_UNKNOWN_BYTES,
    UPLOAD_PATHS,
    BodyLimit,
    Refusal,
)

Message = dict[str, Any]
STRANGER, MEMBER, ADMIN = "stranger", "member", "admin"


def answer(
    path: str, chunks: list[bytes], announced: int | None = None, sender: str = ADMIN, query: bytes = b""
) -> tuple[int, dict[str, Any], int]:
    """Status and body of the answer, and how much the application saw. Uploads of 30 MB are allowed."""
    given = [{"type": "http.request", "body": each, "more_body": True} for each in chunks]
    messages = iter([*given, {"type": "http.request", "body": b""}])
    sent: list[Message] = []
    seen = 0

    async def receive() -> Message:
        return next(messages)

    async def send(message: Message) -> None:
        sent.append(message)

    async def application(scope: Message, receive: Any, send: Any) -> None:
        nonlocal seen
        while (message := await receive())["type"] == "http.request":
            seen += len(message["body"])
            if not message.get("more_body"):
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b"{}"})
                return

    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    scope = request_scope(path, headers, query)
    asyncio.run(BodyLimit(application, 30_000_000, known_as(sender))(scope, receive, send))
    start, body = sent
    return start["status"], json.loads(body["body"]), seen


def request_scope(path: str, headers: list[tuple[bytes, bytes]], query: bytes = b"") -> Message:
    raw = {"path": path, "raw_path": path.encode(), "query_string": query}
    return {"type": "http", "method": "POST", "headers": headers, **raw}


def known_as(sender: str) -> Any:
    async def check(scope: Message, is_upload: bool) -> Refusal | None:
        if sender == STRANGER:
            return Refusal(401, "Who are you?")
        return Refusal(403, "Admins only.") if is_upload and sender == MEMBER else None

    return check


def test_what_is_announced_as_too_large_is_not_read() -> None:
    status, told, seen = answer("/log-in", [b"x"], announced=MOST_BODY_BYTES + 1)
    assert (status, seen) == (413, 0)
    assert told["detail"] == "This is larger than the 20.0 MB that are taken here. Nothing was changed."


def test_what_never_ends_is_cut_at_the_limit() -> None:
    status, _, seen = answer("/log-in", [b"x" * 9_000_000] * 5)
    assert (status, seen) == (413, 18_000_000)


@pytest.mark.parametrize(
    ("path", "size"), [("/log-in", MOST_BODY_BYTES), *((path, 31_000_000) for path in UPLOAD_PATHS)]
)
def test_what_is_not_too_large_passes_whole(path: str, size: int) -> None:
    assert answer(path, [b"x" * size], announced=size) == (200, {}, size)


def test_an_upload_has_the_limit_of_files() -> None:
    status, _, seen = answer(UPLOAD_PATHS[0], [], announced=31_000_001)
    assert (status, seen) == (413, 0)


def test_a_length_that_is_no_number_is_counted_instead() -> None:
    assert answer("/log-in", [b"xyz"]) == (200, {}, 3)


def test_a_strangers_body_is_read_as_far_as_a_form_goes() -> None:
    assert answer("/log-in", [b"x" * MOST_UNKNOWN_BYTES], MOST_UNKNOWN_BYTES, STRANGER) == (200, {}, MOST_UNKNOWN_BYTES)
    assert answer("/log-in", [b"x"], MOST_UNKNOWN_BYTES + 1, STRANGER)[::2] == (401, 0)
    assert answer("/log-in", [b"x" * 60_000] * 5, None, STRANGER)[::2] == (401, 60_000)


@pytest.mark.parametrize("path", UPLOAD_PATHS)
def test_nothing_of_an_upload_is_read_from_whoever_may_not_upload(path: str) -> None:
    assert answer(path, [b"x"], sender=STRANGER)[::2] == (401, 0)
    assert answer(path, [b"x"], sender=MEMBER)[::2] == (403, 0)
    assert answer(path, [b"x"])[::2] == (200, 1)


def test_few_large_bodies_are_taken_at_once() -> None:
    async def statuses() -> list[int]:
        entered, leave = 0, asyncio.Event()

        async def application(scope: Message, receive: Any, send: Any) -> None:
            nonlocal entered
            entered += 1
            await leave.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        limits = BodyLimit(application, 30_000_000, known_as(ADMIN))
        scope = request_scope(UPLOAD_PATHS[0], [(b"content-length", b"1000000")])
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def one() -> None:
            await limits(scope, asyncio.Event().wait, send)  # type: ignore[arg-type]

        tasks = [asyncio.create_task(one()) for _ in range(MOST_LARGE_BODIES)]
        while entered < MOST_LARGE_BODIES:
            await asyncio.sleep(0)
        await one()
        assert dict(sent[0]["headers"])[b"retry-after"] == b"60"
        leave.set()
        await asyncio.gather(*tasks)
        await one()
        return [message["status"] for message in sent if "status" in message]

    assert asyncio.run(statuses()) == [429, *([200] * (MOST_LARGE_BODIES + 1))]


def test_an_address_that_is_too_long_is_refused() -> None:
    assert answer("/compare", [], query=b"x" * (MOST_ADDRESS_BYTES - 8))[0] == 200
    status, told, _ = answer("/compare", [], query=b"x" * (MOST_ADDRESS_BYTES - 7))
    assert (status, told["detail"]) == (414, "The address is longer than 32 kB. Ask for less at a time.")
