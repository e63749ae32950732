"""Who asks: the browser's session, with a CSRF token for every write."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest
from ninja.security import SessionAuth

from experiments.models import User

session = SessionAuth()


def person(request: HttpRequest) -> User:
    return cast(User, request.user)
