"""What the web server refuses before any page sees it, and what every response tells a browser to refuse."""

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

MOST_BODY_BYTES = 20_000_000
UPLOAD_PATHS = ("/data-sets/npz/upload", "/apps/upload", "/api/v1/apps")
UPLOAD_OVERHEAD_BYTES = 1_000_000


class BodyLimit:
    def __init__(self, application: Application, upload: int) -> None:
        self.application = application
        self.upload = upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.application(scope, receive, send)
        body = CountedReceive(
            receive, self.upload + UPLOAD_OVERHEAD_BYTES if scope["path"] in UPLOAD_PATHS else MOST_BODY_BYTES
        )
        if announced_length(scope) > body.limit:
            return await send_too_large(body.limit, send)
        await self.application(scope, body, send)
        if body.exceeded:
            await send_too_large(body.limit, send)
        return None


class CountedReceive:
    """What comes in, up to the limit; beyond it the sender counts as gone, and nothing was answered yet."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self.receive, self.limit = receive, limit
        self.received = 0

    @property
    def exceeded(self) -> bool:
        return self.received > self.limit

    async def __call__(self) -> Message:
        message = await self.receive()
        self.received += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.exceeded else message


def announced_length(scope: Scope) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else 0


def too_large_error(limit: int) -> dict[str, Any]:
    detail = f"This is larger than the {limit / 1e6:,.1f} MB that are taken here. Nothing was changed."
    return {"detail": detail, "errors": [{"path": "", "message": detail}]}


async def send_too_large(limit: int, send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(too_large_error(limit)).encode()})


CONTENT_SECURITY_POLICY = "; ".join(
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
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class SecurityHeadersMiddleware:
    sync_capable = async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        response = self.get_response(request)
        return add_security_headers(response) if isinstance(response, HttpResponseBase) else self.later(response)

    async def later(self, response: Awaitable[HttpResponseBase]) -> HttpResponseBase:
        return add_security_headers(await response)


def add_security_headers(response: HttpResponseBase) -> HttpResponseBase:
    response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
    response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
    return response
