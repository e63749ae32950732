"""What every page needs of a request: the person, a part instead of the page, numbers in the address, refusals."""

from __future__ import annotations

from typing import Any, cast

from config.http_limits import too_large
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.views.defaults import bad_request as broken

from experiments.models import User


def page_or_part(request: HttpRequest, page: str, part: str, context: dict[str, Any]) -> HttpResponse:
    asked_for_part = request.headers.get("HX-Request") == "true" and "HX-Boosted" not in request.headers
    response = render(request, part if asked_for_part else page, {**context, "live": asked_for_part})
    patch_vary_headers(response, ["HX-Request"])
    return response


def whole_number(text: str | None, default: int) -> int:
    """A number from the address; whatever else stands there counts as not given."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else default


def person(request: HttpRequest) -> User:
    return cast(User, request.user)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not isinstance(exception, RequestDataTooBig):
        return broken(request, exception)
    told = too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0)
    if request.content_type == "application/json":
        return JsonResponse(told, status=413)
    # Without the request: whose it is, is unknown yet.
    return HttpResponse(render_to_string("413.html", told), status=413)
