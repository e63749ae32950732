"""The document and its pages: for everyone who may read, with a token or logged in."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from ninja.errors import AuthenticationError

from experiments.api.auth import BearerToken, person
from experiments.api.errors import UNKNOWN, refusal

View = Callable[..., HttpResponse]


def open_to_readers(view: View) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, **options: Any) -> HttpResponse:
        if may_read(request):
            return view(request, **options)
        if request.path.endswith(".json"):
            return refusal(401, UNKNOWN)
        return redirect_to_login(request.get_full_path())

    return guarded


def may_read(request: HttpRequest) -> bool:
    try:
        return person(request).is_authenticated or BearerToken()(request) is not None
    except AuthenticationError:
        return False
