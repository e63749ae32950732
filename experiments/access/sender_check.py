"""Who sends a large body: asked before any of it is read, where Django would first write all of it to a disk."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

from asgiref.sync import sync_to_async
from config.http_limits import Refusal, Scope
from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.db import connection

from experiments.access.services.tokens import token_authenticate
from experiments.models import Scope as TokenScope
from experiments.models import User

BEARER = "Bearer "
UNKNOWN = Refusal(401, "Log in first, or send an API token: nothing of this was read.")
FORBIDDEN = Refusal(403, "Only an admin may upload: nothing of this was read.")
READS_ONLY = Refusal(403, "This token may only read: nothing of this was read.")


async def check_sender(scope: Scope, is_upload: bool) -> Refusal | None:
    """One at a time, in a thread of its own: however many come, they take one connection."""
    request = ASGIRequest(scope, BytesIO())
    if not request.headers.get("Authorization") and settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return UNKNOWN
    return await sync_to_async(check_and_close)(request, is_upload)


def check_and_close(request: ASGIRequest, is_upload: bool) -> Refusal | None:
    try:
        return refusal_of(request, is_upload)
    finally:
        connection.close()


def refusal_of(request: ASGIRequest, is_upload: bool) -> Refusal | None:
    authorization = request.headers.get("Authorization", "")
    if authorization.startswith(BEARER):
        token = token_authenticate(authorization.removeprefix(BEARER).strip())
        if token and token.scope != TokenScope.WRITE:
            return READS_ONLY
        person: User | None = token.owner if token else None
    else:
        person = session_person(request)
    if person is None:
        return UNKNOWN
    return FORBIDDEN if is_upload and not person.is_lab_admin else None


def session_person(request: ASGIRequest) -> User | None:
    store: Any = import_module(settings.SESSION_ENGINE).SessionStore
    request.session = store(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    person = get_user(request)
    return person if isinstance(person, User) else None
