"""People: who exists, with which role. No default passwords."""

from __future__ import annotations

import secrets

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from experiments.models import Role, User
from experiments.services.audit import audit_record
from workers.errors import Problem, SpecError

ADMIN = "admin"


def ensure_admin(password: str | None) -> tuple[User, str | None]:
    """The user `admin`, made at the first start. The password is returned only if it was generated just now."""
    with transaction.atomic():
        existing = User.objects.filter(username=ADMIN).first()
        if existing:
            return existing, None
        return user_create(name=ADMIN, role=Role.ADMIN, password=password)


def user_create(*, name: str, role: str = Role.MEMBER, password: str | None = None) -> tuple[User, str | None]:
    """The user, and the password if it was generated: shown once, stored hashed."""
    generated = None if password else secrets.token_urlsafe(12)
    user = User(username=name, role=role)
    if problems := [*user_problems(user), *password_problems(password, user)]:
        raise SpecError(problems, "The user cannot be created.")
    user.set_password(password or generated)
    with transaction.atomic():
        user.save()
        audit_record(actor=None, action="user.create", subject=f"user {user.username}", role=role)
    return user, generated


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
