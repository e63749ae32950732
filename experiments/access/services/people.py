"""People: who exists, with which role. No default passwords."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from experiments.access.services.audit import audit_record
from experiments.access.services.passwords import PasswordLink, require_password_login, sign_password_link
from experiments.access.services.rights import require_admin
from experiments.core.errors import ConflictError
from experiments.models import Role, User
from experiments.results.live.notify import notify_access
from workers.errors import Problem, SpecError

ADMIN = "admin"


def ensure_admin(password: str | None) -> tuple[User, str | None]:
    """The user `admin`, made at the first start. The password is returned only if it was generated just now."""
    with transaction.atomic():
        existing = User.objects.filter(username=ADMIN).first()
        if existing:
            return existing, None
        return user_create(name=ADMIN, role=Role.ADMIN, password=password)


def user_create(
    *, name: str, role: str = Role.MEMBER, password: str | None = None, actor: User | None = None
) -> tuple[User, str | None]:
    """The user, and the password if it was generated: shown once, stored hashed. No actor: the server's shell."""
    if actor:
        require_password_login()
    generated_password = None if password else secrets.token_urlsafe(12)
    user = checked_user(name, role, password, actor)
    user.set_password(password or generated_password)
    save_new_user(user, actor, "user.create")
    return user, generated_password


def user_invite(*, name: str, role: str, actor: User) -> tuple[User, PasswordLink]:
    """The user, who has no password yet, and the one-time link with which they choose it."""
    require_password_login()
    user = checked_user(name, role, None, actor)
    user.set_unusable_password()
    save_new_user(user, actor, "user.invite")
    return user, sign_password_link(user)


def checked_user(name: str, role: str, password: str | None, actor: User | None) -> User:
    if actor:
        require_admin(actor)
    user = User(username=name, role=role)
    if problems := [*user_problems(user), *password_problems(password, user)]:
        raise SpecError(problems, "The user cannot be created.")
    return user


def save_new_user(user: User, actor: User | None, action: str) -> None:
    with transaction.atomic():
        user.save()
        audit_record(actor=actor, action=action, subject=f"user {user.username}", role=user.role)


def user_set_role(*, user: User, role: str, actor: User | None) -> User:
    """Counts from the next request on, for browsers and tokens alike. No actor: somebody with the server's shell."""
    if role not in Role.values:
        raise SpecError([Problem("role", f"Choose one of {', '.join(Role.values)}.")], "There is no such role.")
    return user_change(user, actor, "user.role", role=role)


def user_set_active(*, user: User, active: bool, actor: User | None) -> User:
    """Whoever is disabled is logged out everywhere, their tokens and share links rest; studies stay and go on."""
    return user_change(user, actor, "user.enable" if active else "user.disable", is_active=active)


def user_change(user: User, actor: User | None, action: str, **fields: Any) -> User:
    if actor:
        require_admin(actor)
    with transaction.atomic():
        admins = list(User.objects.select_for_update().filter(role=Role.ADMIN, is_active=True).order_by("pk"))
        account = User.objects.select_for_update().get(pk=user.pk)
        before = {name: getattr(account, name) for name in fields}
        for name, value in fields.items():
            setattr(account, name, value)
        if admins == [account] and not account.is_lab_admin:
            raise ConflictError(f"{account.username} is the only admin: make somebody else one first.")
        if before != fields:
            account.save(update_fields=list(fields))
            account.provider_accounts.update(groups_lost=None)
            detail = {"before": before["role"], "role": account.role} if "role" in fields else {}
            audit_record(actor=actor, action=action, subject=f"user {account.username}", **detail)
            notify_access()
    return account


def user_problems(user: User) -> list[Problem]:
    try:
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        return [Problem(field, " ".join(messages)) for field, messages in error.message_dict.items()]
    return []


def password_problems(password: str | None, user: User) -> list[Problem]:
    if password is None:
        return []
    try:
        validate_password(password, user)
    except ValidationError as error:
        return [Problem("password", " ".join(error.messages))]
    return []
