"""What the server takes in before any page sees it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from config.http_limits import MOST_BODY_BYTES, UPLOAD_PATHS, BodyLimit

Message = dict[str, Any]


def answer(path: str, chunks: list[bytes], announced: int | None = None) -> tuple[int, dict[str, Any], int]:
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
    scope = {"type": "http", "path": path, "headers": headers}
    asyncio.run(BodyLimit(application, 30_000_000)(scope, receive, send))
    start, body = sent
    return start["status"], json.loads(body["body"]), seen


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
