"""Who asks: a program with a bearer token, or the browser's session with a CSRF token for every write."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from ninja.errors import AuthenticationError
from ninja.security import HttpBearer, SessionAuth

from experiments.access.selectors.credentials import Credential
from experiments.access.services.throttling import check_rate_limit
from experiments.access.services.tokens import token_authenticate
from experiments.core.errors import NotAllowedError
from experiments.models import Scope, Token
from experiments.web.requests import current_user

READS = ("GET", "HEAD", "OPTIONS")


class BearerToken(HttpBearer):
    """`Authorization: Bearer trib_...`. A bad token is refused, whatever cookie comes with it."""

    def authenticate(self, request: HttpRequest, token: str) -> Token:
        known_token = token_authenticate(token)
        if known_token is None:
            raise AuthenticationError
        if known_token.scope != Scope.WRITE and not only_asks(request):
            raise NotAllowedError("This token may only read. Make one with the scope write on your own page.")
        request.user = known_token.owner
        count_request(request)
        return known_token


def only_asks(request: HttpRequest) -> bool:
    """Reads, and a launch that is only checked: it has a body, but stores nothing."""
    is_check = request.path == reverse("api:studies") and request.GET.getlist("dry_run") == ["true"]
    return request.method in READS or (request.method == "POST" and is_check)


def may_write(request: HttpRequest) -> bool:
    token = getattr(request, "auth", None)
    return not isinstance(token, Token) or token.scope == Scope.WRITE


class BrowserSession(SessionAuth):
    """The cookie of a person who logged in."""

    def __call__(self, request: HttpRequest) -> Any:
        """Of nobody no CSRF token is asked: 401 says what to come with, 403 would say that coming is in vain."""
        return super().__call__(request) if current_user(request).is_authenticated else None

    def authenticate(self, request: HttpRequest, key: str | None) -> Any:
        user = super().authenticate(request, key)
        if user:
            count_request(request)
        return user


def count_request(request: HttpRequest) -> None:
    check_rate_limit(who=str(current_user(request).pk), write=request.method not in READS)


AUTH = [BearerToken(), BrowserSession()]


def request_credential(request: HttpRequest) -> Credential:
    """What opened a route, to be asked again while its answer is being sent."""
    person, token = current_user(request), getattr(request, "auth", None)
    if isinstance(token, Token):
        return Credential(person.pk, person.role, token=token.pk)
    session, mark = request.session.session_key, person.get_session_auth_hash()
    return Credential(person.pk, person.role, session=session, password_mark=mark)
