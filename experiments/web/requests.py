"""What every page needs of a request: the person, a part instead of the page, numbers in the address, refusals."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from config.http_limits import too_large_error
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.defaults import bad_request as default_bad_request

from experiments.access.services.rights import VIEWERS_READ
from experiments.models import User


def wants_part(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true" and "HX-Boosted" not in request.headers


def page_or_part(request: HttpRequest, page: str, part: str, context: dict[str, Any]) -> HttpResponse:
    is_part = wants_part(request)
    response = render(request, part if is_part else page, {**context, "live": is_part})
    patch_vary_headers(response, ["HX-Request"])
    return response


def whole_number(text: str | None, default: int) -> int:
    """A number from the address; whatever else stands there counts as not given."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else default


def current_user(request: HttpRequest) -> User:
    return cast(User, request.user)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not isinstance(exception, RequestDataTooBig):
        return default_bad_request(request, exception)
    problem = too_large_error(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0)
    if request.content_type == "application/json":
        return JsonResponse(problem, status=413)
    # Without the request: whose it is, is unknown yet.
    return HttpResponse(render_to_string("413.html", problem), status=413)


def redirect_back(request: HttpRequest, page: str, *where: int) -> HttpResponse:
    """To the page the button was on, if that is one of ours."""
    target = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return redirect(target) if target and ours else redirect(page, *where)


LARGEST_DRAFT = 300_000
"""Bytes of a study that is checked while it is written, with the text it started from."""
DRAFT_TOO_LARGE = "This study is too large to be checked while it is written: launch it over REST instead."


def for_launchers(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Refuses viewers, and what is too large, before anything of the request is read."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        if not current_user(request).may_launch:
            return JsonResponse({"detail": VIEWERS_READ, "errors": []}, status=403)
        if len(request.body) > LARGEST_DRAFT:
            return JsonResponse({"detail": DRAFT_TOO_LARGE, "errors": []}, status=413)
        return view(request)

    return checked
