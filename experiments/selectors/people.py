"""Everybody who has an account, as the page for admins shows them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q

from experiments.models import User


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
