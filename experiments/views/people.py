"""Who asks. Log-in is required everywhere (middleware), so a request always has a person of ours."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest

from experiments.models import User


def person(request: HttpRequest) -> User:
    return cast(User, request.user)
