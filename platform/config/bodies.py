"""Bodies that no page takes are refused before they fill the disk: Django puts every body into a file before it looks.

Django's own limit for forms and JSON (`DATA_UPLOAD_MAX_MEMORY_SIZE`) is lower, and answers with a page that says so.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST = 20_000_000
UPLOAD = "/data-sets/npz/upload"
AROUND_A_FILE = 1_000_000


class BodyLimit:
    def __init__(self, application: Application, upload: int) -> None:
        self.application = application
        self.upload = upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.application(scope, receive, send)
        counted = Counted(receive, self.upload + AROUND_A_FILE if scope["path"] == UPLOAD else MOST)
        if announced(scope) > counted.limit:
            return await refuse(counted.limit, send)
        await self.application(scope, counted, send)
        if counted.exceeded:
            await refuse(counted.limit, send)
        return None


class Counted:
    """What comes in, up to the limit; beyond it the sender counts as gone, and nothing was answered yet."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self.receive, self.limit = receive, limit
        self.taken = 0

    @property
    def exceeded(self) -> bool:
        return self.taken > self.limit

    async def __call__(self) -> Message:
        message = await self.receive()
        self.taken += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.exceeded else message


def announced(scope: Scope) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else 0


def too_large(limit: int) -> dict[str, Any]:
    detail = f"This is larger than the {limit / 1e6:,.1f} MB that are taken here. Nothing was changed."
    return {"detail": detail, "errors": [{"path": "", "message": detail}]}


async def refuse(limit: int, send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(too_large(limit)).encode()})
