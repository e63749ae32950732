"""Comparisons that people kept, and links they gave away."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from experiments.models import SavedView, ShareLink, User


def views_for(*, person: User) -> QuerySet[SavedView]:
    """One's own, and those that others share with the lab."""
    return SavedView.objects.filter(Q(owner=person) | Q(shared=True)).select_related("owner")


def links_for(*, person: User) -> QuerySet[ShareLink]:
    """One's own that were not revoked; an admin sees everyone's."""
    links = ShareLink.objects.filter(revoked=None).select_related("owner")
    return links if person.is_lab_admin else links.filter(owner=person)
