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

PASSWORDS_ARE_OFF = "People log in with the lab's sign-on: nobody needs a password here."
LINK_DAYS = settings.PASSWORD_RESET_TIMEOUT // 86_400


class PasswordLink(NamedTuple):
    """The two last parts of its address."""

    person: str
    token: str


def sign_password_link(user: User) -> PasswordLink:
    return PasswordLink(urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user))


def password_link_create(*, user: User, actor: User | None) -> PasswordLink:
    """Nobody can tell it again; the present password works until the link is used. No actor: the server's shell."""
    if actor:
        require_admin(actor)
        require_password_login()
    elif not settings.PASSWORD_LOGIN and not user.is_lab_admin:
        raise ConflictError(f"{PASSWORDS_ARE_OFF} From here, an admin may.")
    if not user.is_active:
        raise ConflictError(f"{user.username} is disabled: enable the account first.")
    audit_record(actor=actor, action="user.password-link", subject=f"user {user.username}")
    return sign_password_link(user)


def require_password_login() -> None:
    if not settings.PASSWORD_LOGIN:
        raise ConflictError(PASSWORDS_ARE_OFF)


def record_new_password(*, user: User) -> None:
    audit_record(actor=user, action="user.password", subject=f"user {user.username}")
    notify_access()
