"""Comparisons that people kept, and links they gave away."""

from __future__ import annotations

from django.db.models import Q

from experiments.models import SavedView, ShareLink, User


def views_for(*, person: User) -> list[SavedView]:
    """One's own, and those that others share with the lab."""
    found = SavedView.objects.filter(Q(owner=person) | Q(shared=True))
    return list(found.select_related("owner").order_by("name", "pk"))


def links_for(*, person: User) -> list[ShareLink]:
    """One's own that still open, the newest first; an admin sees everyone's."""
    found = ShareLink.objects.filter(revoked__isnull=True).select_related("owner")
    return list(found if person.is_lab_admin else found.filter(owner=person))
