"""People and tokens as the pages show them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q
from django.utils import timezone

from experiments.models import Token, User


@dataclass(frozen=True)
class PersonRow:
    person: User
    studies: int
    tokens: int


def people_rows() -> list[PersonRow]:
    """By name, those who are shut out last."""
    people = User.objects.annotate(
        made=Count("studies", distinct=True), keys=Count("tokens", filter=Q(tokens__revoked=None), distinct=True)
    )
    return [PersonRow(each, each.made, each.keys) for each in people.order_by("-is_active", "username")]


TOKENS_SHOWN = 200


@dataclass(frozen=True)
class TokenRow:
    token: Token
    state: str

    @property
    def alive(self) -> bool:
        return self.state == "active"


def token_rows(*, owner: User) -> list[TokenRow]:
    """Those that work first, the newest of them on top."""
    rows = [
        TokenRow(token, token_state(token))
        for token in Token.objects.filter(owner=owner).order_by("-pk")[:TOKENS_SHOWN]
    ]
    return sorted(rows, key=lambda row: not row.alive)


def token_state(token: Token) -> str:
    if token.revoked:
        return "revoked"
    return "expired" if token.expires and token.expires <= timezone.now() else "active"
