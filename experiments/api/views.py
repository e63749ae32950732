"""How Django reaches the routes: open to whoever asks, because each route refuses strangers itself, in JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from experiments.api.errors import MISSING, refusal

View = Callable[..., Any]


def route_view(view: View) -> View:
    """401 instead of a redirect to the log-in page, and words for a method that is not there."""

    @wraps(view)
    def answer(request: HttpRequest, **options: Any) -> HttpResponseBase:
        return in_words(view(request, **options))

    @wraps(view)
    async def later(request: HttpRequest, **options: Any) -> HttpResponseBase:
        return in_words(await view(request, **options))

    return login_not_required(later if iscoroutinefunction(view) else answer)


def in_words(response: HttpResponseBase) -> HttpResponseBase:
    if not isinstance(response, HttpResponseNotAllowed):
        return response
    allowed = ", ".join(sorted(response["Allow"].split(", ")))
    told = refusal(405, f"This address takes {allowed}.")
    told["Allow"] = allowed
    return told


@csrf_exempt
@login_not_required
def nothing_here(request: HttpRequest, rest: str) -> HttpResponse:
    return refusal(404, MISSING)
