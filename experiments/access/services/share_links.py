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
from experiments.compare.choices import choices_of, selection_query
from experiments.compare.selectors.cells import selected_studies
from experiments.compare.services import NAME_LENGTH, clean_query, query_problems
from experiments.core.errors import NotAllowedError
from experiments.core.json_values import plain_text
from experiments.models import Run, ShareLink, Study, User
from workers.errors import Problem, SpecError

PREFIX_LENGTH = 8
DEFAULT_DAYS, MOST_DAYS = 30, 365


def link_create(*, owner: User, query: str, title: str = "", days: int = DEFAULT_DAYS) -> tuple[ShareLink, str]:
    """The link, and its secret: nobody can tell it again."""
    require_launch(owner)
    heading, choices = plain_text(title.strip()), pin_tags(clean_query(query))
    if problems := [*query_problems(choices), *absent_problems(choices), *link_problems(heading, days)]:
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
    """The same view, of the studies that it shows now."""
    choices = QueryDict(query, mutable=True)
    selection = selection_query(choices)
    if selection.tags:
        shown = selected_studies(studies=selection.studies, tags=selection.tags)
        choices.setlist("study", [",".join(str(study.pk) for study in shown)] if shown else [])
    for name in ("tag", "q"):
        choices.pop(name, None)
    return choices.urlencode()


def absent_problems(query: str) -> list[Problem]:
    """What is not there may be made later, by somebody who gives nothing away."""
    choices = choices_of(QueryDict(query))
    studies, runs = set(choices.selection_query.studies), {*choices.selection_query.runs, *choices.diff} - {0}
    studies -= set(Study.objects.filter(pk__in=studies).values_list("pk", flat=True))
    runs -= set(Run.objects.filter(pk__in=runs).values_list("pk", flat=True))
    absent = [*(f"study {pk}" for pk in sorted(studies)), *(f"run {pk}" for pk in sorted(runs))]
    return [Problem("query", f"There is no {', no '.join(absent)}.")] if absent else []


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


def link_ended(secret: str) -> bool:
    """Whether that was a link once: it expired, was revoked, or the person who shared it was disabled."""
    return ShareLink.objects.filter(digest=secret_digest(secret)).exists()


def link_revoke(*, link: ShareLink, actor: User) -> None:
    """Whoever has it sees nothing from the next request on."""
    if link.owner_id != actor.pk and not actor.is_lab_admin:
        raise NotAllowedError("Only the person who shared it or an admin may revoke a link.")
    with transaction.atomic():
        if ShareLink.objects.filter(pk=link.pk, revoked=None).update(revoked=Now()):
            audit_record(actor=actor, action="share.revoke", subject=f"share link {link.pk}", title=link.title)
