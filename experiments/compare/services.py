"""Comparisons kept under a name: their choices as they stand in the address."""

from __future__ import annotations

from django.db import transaction

from experiments.core.errors import ConflictError, NotAllowedError
from experiments.core.json_values import plain_text
from experiments.models import SavedView, User
from workers.errors import Problem, SpecError

NAME_LENGTH, QUERY_LENGTH, MOST_VIEWS = 200, 8_000, 500


def view_save(*, owner: User, name: str, query: str, shared: bool = True) -> SavedView:
    """Saved again under the same name, it replaces what was there. A viewer's are for themselves."""
    if shared and not owner.may_launch:
        raise NotAllowedError("A viewer's views are for themselves. Ask an admin for the role member to share them.")
    label, choices = plain_text(name.strip()), clean_query(query)
    if problems := [*name_problems(label), *query_problems(choices)]:
        raise SpecError(problems, "The view cannot be saved.")
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        saved_view = owner.views.filter(name=label).first()
        if saved_view is None and owner.views.count() >= MOST_VIEWS:
            raise ConflictError(f"You have {MOST_VIEWS} views: delete one that is no longer used.")
        view = saved_view or SavedView(owner=owner, name=label)
        view.query, view.shared = choices, shared
        view.save()
    return view


def view_delete(*, view: SavedView, actor: User) -> None:
    if view.owner_id != actor.pk and not actor.is_lab_admin:
        raise NotAllowedError("Only the person who saved the view or an admin may delete it.")
    view.delete()


def clean_query(query: str) -> str:
    return plain_text(query.strip().removeprefix("?"))


def name_problems(name: str) -> list[Problem]:
    checks = [(not name, "A view needs a name."), (len(name) > NAME_LENGTH, f"At most {NAME_LENGTH} characters.")]
    return [Problem("name", message) for wrong, message in checks if wrong]


def query_problems(query: str) -> list[Problem]:
    checks = [
        (not query, "Choose something to compare first."),
        (len(query) > QUERY_LENGTH, f"At most {QUERY_LENGTH:,} characters: choose less."),
    ]
    return [Problem("query", message) for wrong, message in checks if wrong]
