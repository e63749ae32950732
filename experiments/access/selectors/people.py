"""People, what their runs used, and their tokens, as the pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, Sum
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from experiments.models import Attempt, Membership, ProviderAccount, Token, User

RECENT_DAYS = 30
NO_TIME = timedelta()


@dataclass(frozen=True)
class Usage:
    """Runs that were computed for a person's studies, and the time workers spent on them. A run that another study
    reuses counts for whoever launched it first."""

    runs: int = 0
    cpu: timedelta = NO_TIME
    gpu: timedelta = NO_TIME
    recent_cpu: timedelta = NO_TIME
    recent_gpu: timedelta = NO_TIME


@dataclass(frozen=True)
class PersonRow:
    person: User
    studies: int
    tokens: int
    usage: Usage
    signs_on: bool = False
    """With the account of a provider."""

    @property
    def invited(self) -> bool:
        """Whether they have yet to choose a password."""
        return not self.person.has_usable_password()


def people_rows() -> list[PersonRow]:
    """By name, those who are disabled last."""
    people = User.objects.annotate(
        made=Count("studies", distinct=True),
        keys=Count("tokens", filter=Q(tokens__revoked=None), distinct=True),
        has_provider=Exists(ProviderAccount.objects.filter(person=OuterRef("pk"))),
    )
    usage = usage_by_person()
    return [
        PersonRow(each, each.made, each.keys, usage.get(each.pk, Usage()), each.has_provider)
        for each in people.order_by("-is_active", "username")
    ]


def usage_of(person: User) -> Usage:
    return usage_by_person(study__owner=person).get(person.pk, Usage())


def usage_by_person(**scope: Any) -> dict[int, Usage]:
    launched = Membership.objects.filter(reused=False, **scope).order_by()
    counts = dict(launched.values_list("study__owner").annotate(runs=Count("run_id")))
    on_cpu, recent = Q(run__device_type__in=["", "cpu"]), Q(started__gt=Now() - timedelta(days=RECENT_DAYS))
    spent = Coalesce(F("ended"), Now()) - F("started")
    attempts = Attempt.objects.filter(run__memberships__in=launched).order_by()
    hours = attempts.values(owner=F("run__memberships__study__owner")).annotate(
        cpu=Sum(spent, filter=on_cpu),
        gpu=Sum(spent, filter=~on_cpu),
        recent_cpu=Sum(spent, filter=on_cpu & recent),
        recent_gpu=Sum(spent, filter=~on_cpu & recent),
    )
    times = {row.pop("owner"): {name: time or NO_TIME for name, time in row.items()} for row in hours}
    return {owner: Usage(runs=runs, **times.get(owner, {})) for owner, runs in counts.items()}


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
