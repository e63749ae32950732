"""Who asks: a program with a bearer token, or the browser's session with a CSRF token for every write."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest
from ninja.errors import AuthenticationError
from ninja.security import HttpBearer, SessionAuth

from experiments.access.services.throttling import rate_check
from experiments.access.services.tokens import token_authenticate
from experiments.core.errors import NotAllowedError
from experiments.models import Scope, Token, User

READS = ("GET", "HEAD", "OPTIONS")


class BearerToken(HttpBearer):
    """`Authorization: Bearer trib_...`. A bad token is refused, whatever cookie comes with it."""

    def authenticate(self, request: HttpRequest, token: str) -> Token:
        found = token_authenticate(token)
        if found is None:
            raise AuthenticationError
        if found.scope != Scope.WRITE and request.method not in READS:
            raise NotAllowedError("This token may only read. Make one with the scope write on your own page.")
        request.user = found.owner
        count(request)
        return found


class BrowserSession(SessionAuth):
    """The cookie of a person who logged in."""

    def authenticate(self, request: HttpRequest, key: str | None) -> Any:
        known = super().authenticate(request, key)
        if known:
            count(request)
        return known


def count(request: HttpRequest) -> None:
    rate_check(who=str(person(request).pk), write=request.method not in READS)


def person(request: HttpRequest) -> User:
    return cast(User, request.user)


AUTH = [BearerToken(), BrowserSession()]
