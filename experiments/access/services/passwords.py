"""One-time links with which people choose a password, so that no admin ever learns one and no mail server is needed.

Django signs them with the account's present password and last log-in: whichever link is used first ends all others of
that person, and so does logging in.
"""

from __future__ import annotations

from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_admin
from experiments.core.errors import ConflictError
from experiments.models import User
from experiments.results.live.notify import notify_access

LINK_DAYS = settings.PASSWORD_RESET_TIMEOUT // 86_400


class PasswordLink(NamedTuple):
    """The two last parts of its address."""

    person: str
    token: str


def sign_password_link(user: User) -> PasswordLink:
    return PasswordLink(urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user))


def password_link_create(*, user: User, actor: User) -> PasswordLink:
    """Nobody can tell it again; the present password works until the link is used."""
    require_admin(actor)
    if not user.is_active:
        raise ConflictError(f"{user.username} is disabled: enable the account first.")
    audit_record(actor=actor, action="user.password-link", subject=f"user {user.username}")
    return sign_password_link(user)


def record_new_password(*, user: User) -> None:
    audit_record(actor=user, action="user.password", subject=f"user {user.username}")
    notify_access()
