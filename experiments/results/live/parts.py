"""Parts of pages that are read again while they change: made once for all who would see the same, not once for each.

A part is old as soon as this process has been told of a change, and after some seconds: words such as "2 min ago" age
without one.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.safestring import mark_safe

from experiments.core.shared_computation import compute_once
from experiments.results.live.changes import Version
from experiments.results.live.events import EventScope
from experiments.results.live.listener import listener
from experiments.web.requests import wants_part

KEPT_SECONDS = 10.0
MOST_BYTES = 20_000_000
SEEN_HEADER = "X-Live-Seen"
"""The moment of the last event that the page was sent, as the event names it."""
PACE_HEADER = "X-Live-Pace"
"""Seconds that the page is to wait until it asks again, whatever happens meanwhile."""
AGAIN_HEADER = "X-Live-Again"
"""The part was made before the last change, and another is being made: the page is to ask again at its pace."""
TOKEN = "a-token-that-is-each-readers-own"


@dataclass(frozen=True)
class Part:
    text: str
    made: float
    version: Version


class Parts:
    """Of one process. The parts that were used last are kept, as many as there is room for."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.parts: OrderedDict[Hashable, Part] = OrderedDict()
        self.size = 0
        self.being_made: set[Hashable] = set()

    def before(self, key: Hashable) -> str | None:
        """The part as it was, while a newer one is being made: nobody waits for that, holding a request's place."""
        with self.lock:
            part = self.parts.get(key) if key in self.being_made else None
            return part.text if part and time.monotonic() - part.made < KEPT_SECONDS else None

    def text(self, key: Hashable, version: Version | None, make: Callable[[], str]) -> str:
        """Without a version nothing is kept; who asks at the same moment is answered together all the same."""
        if version is None:
            return compute_once(key, make)
        return self.find(key, version) or compute_once((key, version), lambda: self.make(key, version, make))

    def find(self, key: Hashable, version: Version) -> str | None:
        with self.lock:
            part = self.parts.get(key)
            if part is None or part.version != version or time.monotonic() - part.made > KEPT_SECONDS:
                return None
            self.parts.move_to_end(key)
            return part.text

    def make(self, key: Hashable, version: Version, make: Callable[[], str]) -> str:
        """Whoever waited for another to make it finds it made."""
        if found := self.find(key, version):
            return found
        begun = time.monotonic()
        with self.lock:
            self.being_made.add(key)
        try:
            part = Part(text=make(), made=begun, version=version)
        finally:
            with self.lock:
                self.being_made.discard(key)
        with self.lock:
            before = self.parts.pop(key, None)
            self.parts[key] = part
            self.size += len(part.text) - (len(before.text) if before else 0)
            while self.size > MOST_BYTES:
                _, oldest = self.parts.popitem(last=False)
                self.size -= len(oldest.text)
        return part.text


parts = Parts()


def live_page(
    request: HttpRequest,
    page: str,
    part: str,
    *,
    scope: EventScope,
    viewer: Callable[[], Hashable],
    make_context: Callable[[], dict[str, Any]],
) -> HttpResponse:
    """The page around its part; or the part alone, shared by all who are equal in `viewer` and ask for the same.

    `viewer` gives everything of the person that the part and the context depend on. Tokens of forms are each reader's
    own. What `make_context` reads it reads itself: it answers for others, too.
    """
    if not wants_part(request):
        return whole_page(request, page, part, (part, viewer()), make_context)

    def render() -> str:
        return render_part(request, part, make_context(), live=True)

    text, again = shared_text(request, (part, viewer()), scope, render)
    response = HttpResponse(with_own_token(request, text))
    patch_vary_headers(response, ["HX-Request"])
    return with_pace(response, again)


def whole_page(
    request: HttpRequest, page: str, part: str, what: Hashable, make_context: Callable[[], dict[str, Any]]
) -> HttpResponse:
    """Whoever asks at the same moment shares what takes long. The template puts `live_part` where it belongs."""

    def make() -> tuple[dict[str, Any], str]:
        context = make_context()
        return context, render_part(request, part, context, live=False)

    context, text = compute_once(("page", what, request.get_full_path()), make)
    own = {"live": False, "live_part": mark_safe(with_own_token(request, text))}  # a template has escaped it
    response = render(request, page, {**context, **own})
    patch_vary_headers(response, ["HX-Request"])
    return response


def render_part(request: HttpRequest, part: str, context: Mapping[str, Any], *, live: bool) -> str:
    return render_to_string(part, {**context, "live": live, "csrf_token": TOKEN}, request)


def with_own_token(request: HttpRequest, text: str) -> str:
    return text.replace(TOKEN, get_token(request)) if TOKEN in text else text


def live_answer(request: HttpRequest, *, scope: EventScope, make: Callable[[], Mapping[str, Any]]) -> HttpResponse:
    """A chart as JSON, the same for everyone."""
    text, _ = shared_text(request, "chart", scope, lambda: json.dumps(make()), wait=True)
    return with_pace(HttpResponse(text, content_type="application/json"))


def shared_text(
    request: HttpRequest, what: Hashable, scope: EventScope, make: Callable[[], str], *, wait: bool = False
) -> tuple[str, bool]:
    """And whether a newer one is being made."""
    version, key = listener.version(scope, seen_moment(request)), (what, request.get_full_path())
    before = None if wait or version is None or parts.find(key, version) else parts.before(key)
    return (before, True) if before else (parts.text(key, version, make), False)


def seen_moment(request: HttpRequest) -> float | None:
    try:
        return float(request.headers.get(SEEN_HEADER, ""))
    except ValueError:
        return None


def with_pace(response: HttpResponse, again: bool = False) -> HttpResponse:
    response.headers[PACE_HEADER] = f"{listener.pace:g}"
    if again:
        response.headers[AGAIN_HEADER] = "1"
    return response
