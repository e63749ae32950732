"""Which tokens and sessions still open what they opened: asked again while a long answer is being sent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.sessions.models import Session
from django.db.models import Q
from django.db.models.functions import Now

from experiments.models import Token, User


@dataclass(frozen=True)
class Credential:
    """With what somebody came, and what they were then; a session ends with its password, too."""

    person: int
    role: str
    token: int | None = None
    session: str | None = None
    password_mark: str = ""


def valid_credentials(credentials: Collection[Credential]) -> set[Credential]:
    """Of people who are let in and have the role they had, with tokens and sessions that neither ended nor expired."""
    people = User.objects.in_bulk({each.person for each in credentials})
    token_ids = {each.token for each in credentials}
    tokens = Token.objects.filter(Q(expires=None) | Q(expires__gt=Now()), revoked=None, pk__in=token_ids - {None})
    sessions = Session.objects.filter(session_key__in={each.session for each in credentials}, expire_date__gt=Now())
    open_tokens = set(tokens.values_list("pk", flat=True))
    open_sessions = set(sessions.values_list("session_key", flat=True))
    return {
        each
        for each in credentials
        if (person := people.get(each.person)) is not None
        and (person.is_active, person.role) == (True, each.role)
        and (each.token in open_tokens if each.token else each.session in open_sessions)
        and (not each.password_mark or each.password_mark == person.get_session_auth_hash())
    }
