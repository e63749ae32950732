"""Whose studies were imported."""

from __future__ import annotations

from django.db.models import Count, Exists, OuterRef, QuerySet

from experiments.models import Membership, Study, User

SHOWN = 100


def imported_studies(owner: User) -> QuerySet[Study]:
    """Those that hold an imported run, the newest first."""
    imported = Membership.objects.filter(study=OuterRef("pk"), run__provenance__logged__has_key="imported")
    studies = Study.objects.filter(Exists(imported), owner=owner, origin="logged", archived=None)
    return studies.annotate(members=Count("memberships")).order_by("-pk")[:SHOWN]
