"""API tokens: the secret is shown once, only its SHA-256 is kept, and a token never may more than its owner."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from hmac import compare_digest

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from experiments.access.services.audit import audit_record
from experiments.core.errors import ConflictError
from experiments.core.json_values import plain_text
from experiments.models import Scope, Token, User
from experiments.results.live.notify import notify_access
from workers.errors import Problem, SpecError

SECRET_MARK = "trib_"
"""Lets people, and programs that look for leaked secrets, tell what they have found."""
PREFIX_LENGTH = 12
NAME_LENGTH, MOST_DAYS, MOST_TOKENS = 100, 3660, 100
USED_EVERY = timedelta(minutes=1)


def token_create(
    *, owner: User, name: str, scope: str = Scope.READ, days: int | None = None, actor: User | None = None
) -> tuple[Token, str]:
    """The token, and its secret: nobody can tell it again."""
    label = plain_text(name.strip())
    if problems := token_problems(name=label, scope=scope, days=days):
        raise SpecError(problems, "The token cannot be made.")
    secret = SECRET_MARK + secrets.token_urlsafe(32)
    with transaction.atomic():
        if active_tokens(owner).count() >= MOST_TOKENS:
            raise ConflictError(f"You have {MOST_TOKENS} tokens: revoke one that is no longer used.")
        token = Token.objects.create(
            owner=owner,
            name=label,
            scope=scope,
            prefix=secret[:PREFIX_LENGTH],
            digest=secret_digest(secret),
            expires=timezone.now() + timedelta(days=days) if days else None,
        )
        audit_record(
            actor=actor or owner, action="token.create", subject=f"token {token.pk}", owner=owner.username, scope=scope
        )
    return token, secret


def token_problems(*, name: str, scope: str, days: int | None) -> list[Problem]:
    checks = [
        (not name, "name", "A token needs a name: say what will use it."),
        (len(name) > NAME_LENGTH, "name", f"At most {NAME_LENGTH} characters."),
        (scope not in Scope.values, "scope", f"Choose one of {', '.join(Scope.values)}."),
        (days is not None and not 1 <= days <= MOST_DAYS, "days", f"A whole number from 1 to {MOST_DAYS}."),
    ]
    return [Problem(path, message) for wrong, path, message in checks if wrong]


def token_revoke(*, token: Token, actor: User) -> Token:
    """Whatever uses it is refused from the next request on, and its open streams end. Once revoked it stays so."""
    with transaction.atomic():
        if Token.objects.filter(pk=token.pk, revoked=None).update(revoked=Now()):
            audit_record(actor=actor, action="token.revoke", subject=f"token {token.pk}", owner=token.owner.username)
            notify_access()
    token.refresh_from_db()
    return token


def token_authenticate(secret: str) -> Token | None:
    """The living token with that secret, of a person who may still log in."""
    digest = secret_digest(secret)
    candidates = active_tokens().filter(prefix=secret[:PREFIX_LENGTH], owner__is_active=True).select_related("owner")
    token = next((each for each in candidates if compare_digest(each.digest, digest)), None)
    if token:
        record_use(token)
    return token


def active_tokens(owner: User | None = None) -> QuerySet[Token]:
    tokens = Token.objects.filter(Q(expires=None) | Q(expires__gt=Now()), revoked=None)
    return tokens.filter(owner=owner) if owner else tokens


def record_use(token: Token) -> None:
    """At most once a minute: reads stay reads."""
    if token.used is None or timezone.now() - token.used >= USED_EVERY:
        Token.objects.filter(pk=token.pk).update(used=Now())


def secret_digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
