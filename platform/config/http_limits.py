"""What the web server refuses before any page sees it, and what every answer tells a browser to refuse."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

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


POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
FEATURES = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"

Answer = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class HeadersMiddleware:
    sync_capable = async_capable = True

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        answer = self.get_response(request)
        return with_headers(answer) if isinstance(answer, HttpResponseBase) else self.later(answer)

    async def later(self, answer: Awaitable[HttpResponseBase]) -> HttpResponseBase:
        return with_headers(await answer)


def with_headers(answer: HttpResponseBase) -> HttpResponseBase:
    answer.headers.setdefault("Content-Security-Policy", POLICY)
    answer.headers.setdefault("Permissions-Policy", FEATURES)
    return answer
