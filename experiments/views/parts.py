"""A page answers a live request with only the part that changes."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def page_or_part(request: HttpRequest, page: str, part: str, context: dict[str, Any]) -> HttpResponse:
    asked_for_part = request.headers.get("HX-Request") == "true" and "HX-Boosted" not in request.headers
    response = render(request, part if asked_for_part else page, {**context, "live": asked_for_part})
    patch_vary_headers(response, ["HX-Request"])
    return response


def whole_number(text: str | None, default: int) -> int:
    """A number from the address; whatever else stands there counts as not given."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else default
