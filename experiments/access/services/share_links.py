"""Share links: one comparison, readable without an account, until it expires or is revoked.

The secret is shown once; only its SHA-256 is kept. A link opens exactly the view that was shared: tags are replaced by
the studies that have them now, so that a study tagged tomorrow is not given away.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.http import QueryDict
from django.utils import timezone

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_launch
from experiments.access.services.tokens import secret_digest
from experiments.compare.selectors.cells import selected_studies
from experiments.compare.services import NAME_LENGTH, clean_query, query_problems
from experiments.core.errors import NotAllowedError
from experiments.core.json_values import plain_text
from experiments.models import ShareLink, User
from workers.errors import Problem, SpecError

PREFIX_LENGTH = 8
DEFAULT_DAYS, MOST_DAYS = 30, 365


def link_create(*, owner: User, query: str, title: str = "", days: int = DEFAULT_DAYS) -> tuple[ShareLink, str]:
    """The link, and its secret: nobody can tell it again."""
    require_launch(owner)
    heading, choices = plain_text(title.strip()), pin_tags(clean_query(query))
    if problems := [*query_problems(choices), *link_problems(heading, days)]:
        raise SpecError(problems, "The link cannot be made.")
    secret = secrets.token_urlsafe(24)
    with transaction.atomic():
        link = ShareLink.objects.create(
            owner=owner,
            title=heading,
            query=choices,
            prefix=secret[:PREFIX_LENGTH],
            digest=secret_digest(secret),
            expires=timezone.now() + timedelta(days=days),
        )
        audit_record(actor=owner, action="share.create", subject=f"share link {link.pk}", title=heading, days=days)
    return link, secret


def pin_tags(query: str) -> str:
    choices = QueryDict(query, mutable=True)
    if tags := choices.pop("tag", []):
        tagged_studies = [str(study.pk) for study in selected_studies(studies=[], tags=tags)]
        choices.setlist("study", list(dict.fromkeys([*choices.getlist("study"), *tagged_studies])))
    choices.pop("q", None)
    return choices.urlencode()


def link_problems(title: str, days: int) -> list[Problem]:
    checks = [
        (len(title) > NAME_LENGTH, "title", f"At most {NAME_LENGTH} characters."),
        (not 1 <= days <= MOST_DAYS, "days", f"A whole number from 1 to {MOST_DAYS}."),
    ]
    return [Problem(path, message) for wrong, path, message in checks if wrong]


def link_open(secret: str) -> ShareLink | None:
    """The living link with that secret, of a person who may still log in."""
    active = ShareLink.objects.filter(expires__gt=Now(), revoked=None, owner__is_active=True)
    return active.filter(digest=secret_digest(secret)).first()


def link_revoke(*, link: ShareLink, actor: User) -> None:
    """Whoever has it sees nothing from the next request on."""
    if link.owner_id != actor.pk and not actor.is_lab_admin:
        raise NotAllowedError("Only the person who shared it or an admin may revoke a link.")
    with transaction.atomic():
        if ShareLink.objects.filter(pk=link.pk, revoked=None).update(revoked=Now()):
            audit_record(actor=actor, action="share.revoke", subject=f"share link {link.pk}", title=link.title)
