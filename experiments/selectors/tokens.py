"""A person's tokens as their page shows them."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from experiments.models import Token, User

SHOWN = 200


@dataclass(frozen=True)
class TokenRow:
    token: Token
    state: str

    @property
    def alive(self) -> bool:
        return self.state == "active"


def token_rows(*, owner: User) -> list[TokenRow]:
    """Those that work first, the newest of them on top."""
    rows = [TokenRow(token, state_of(token)) for token in Token.objects.filter(owner=owner).order_by("-pk")[:SHOWN]]
    return sorted(rows, key=lambda row: not row.alive)


def state_of(token: Token) -> str:
    if token.revoked:
        return "revoked"
    return "expired" if token.expires and token.expires <= timezone.now() else "active"
