"""What the web server refuses before any page sees it, and what every response tells a browser to refuse."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_CONNECTIONS = 2_000
"""Open at once to each web process; what is asked beyond gets 503."""
MOST_HEAD_BYTES = 65_536
MOST_ADDRESS_BYTES = 32_768
MOST_BODY_BYTES = 20_000_000
MOST_UNKNOWN_BYTES = 100_000
"""Of a body whose sender has not been looked at: a log-in has some hundred."""
MOST_LARGE_BODIES = 8
"""At once, on disk until they are read."""
UPLOAD_PATHS = ("/data-sets/npz/upload", "/apps/upload", "/api/v1/apps")
UPLOAD_OVERHEAD_BYTES = 1_000_000
ADDRESS_TOO_LONG = f"The address is longer than {MOST_ADDRESS_BYTES // 1024} kB. Ask for less at a time."
TOO_MANY_BODIES = "Too many large bodies are being sent. Try again in a minute."


def web_share(total: int) -> int:
    """What one web process may take of what all of them may take together."""
    return max(1, total // int(settings.WEB_PROCESSES))


@dataclass(frozen=True)
class Refusal:
    status: int
    detail: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


CheckSender = Callable[[Scope, bool], Awaitable[Refusal | None]]
"""Why somebody may not send a large body here, if so; the flag says whether it is an upload."""


class BodyLimit:
    """What is larger than a form is read only from people who may send it, and from few at a time."""

    def __init__(self, application: Application, upload: int, check_sender: CheckSender) -> None:
        self.application = application
        self.upload = upload
        self.check_sender = check_sender
        self.large_bodies = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(scope["raw_path"]) + len(scope["query_string"]) > MOST_ADDRESS_BYTES:
            return await send_refusal(send, 414, ADDRESS_TOO_LONG)
        body = LimitedBody(self, scope, receive)
        try:
            if await body.is_refused(announced_length(scope)):
                return await body.send_refusal(send)
            await self.application(scope, body.receive, send)
        finally:
            body.end()
        if body.refusal:
            await body.send_refusal(send)
        return None


class LimitedBody:
    """What comes in, up to the limit; beyond it the sender counts as gone, and nothing was answered yet."""

    def __init__(self, limits: BodyLimit, scope: Scope, receive: Receive) -> None:
        self.limits, self.scope, self.receive_message = limits, scope, receive
        self.is_upload = scope["method"] == "POST" and scope["path"] in UPLOAD_PATHS
        self.limit = limits.upload + UPLOAD_OVERHEAD_BYTES if self.is_upload else MOST_BODY_BYTES
        self.received = 0
        self.is_large = False
        self.refusal: Refusal | None = None

    async def is_refused(self, size: int) -> bool:
        """Whether a body of that size may not be read."""
        if size > self.limit:
            self.refusal = Refusal(413, too_large_error(self.limit)["detail"])
        elif not self.is_large and (self.is_upload or size > MOST_UNKNOWN_BYTES):
            self.refusal = await self.limits.check_sender(self.scope, self.is_upload)
            if self.refusal is None:
                self.begin_large()
        return self.refusal is not None

    def begin_large(self) -> None:
        if self.limits.large_bodies >= web_share(MOST_LARGE_BODIES):
            self.refusal = Refusal(429, TOO_MANY_BODIES, ((b"retry-after", b"60"),))
        else:
            self.is_large = True
            self.limits.large_bodies += 1

    async def receive(self) -> Message:
        message = await self.receive_message()
        self.received += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.refusal or await self.is_refused(self.received) else message

    def end(self) -> None:
        if self.is_large:
            self.is_large = False
            self.limits.large_bodies -= 1

    async def send_refusal(self, send: Send) -> None:
        if self.refusal:
            await send_refusal(send, self.refusal.status, self.refusal.detail, *self.refusal.headers)


def announced_length(scope: Scope) -> int:
    length = header_value(scope, b"content-length")
    return int(length) if length.isdigit() else 0


def header_value(message: Message, name: bytes) -> bytes:
    return next((value for each, value in message["headers"] if each.lower() == name), b"")


def too_large_error(limit: int) -> dict[str, Any]:
    detail = f"This is larger than the {limit / 1e6:,.1f} MB that are taken here. Nothing was changed."
    return error_body(detail)


def error_body(detail: str) -> dict[str, Any]:
    return {"detail": detail, "errors": [{"path": "", "message": detail}]}


async def send_refusal(send: Send, status: int, detail: str, *headers: tuple[bytes, bytes]) -> None:
    """The connection ends with it: what is left of the body is not read."""
    common = [(b"content-type", b"application/json"), (b"cache-control", b"no-store"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": [*common, *headers]})
    await send({"type": "http.response.body", "body": json.dumps(error_body(detail)).encode()})


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
