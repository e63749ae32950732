"""What every answer tells a browser to refuse: foreign scripts, frames, plugins, guessing at content types.

Scripts come from this server's files only: no inline code, no eval, so that text that slipped into a page stays text.
Plotly draws with style attributes, therefore styles may be inline.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

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
