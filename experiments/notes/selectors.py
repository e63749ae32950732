"""Notes as pages and REST read them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from experiments.models import Membership, Note, Run


def notes_on(*, study: int | None = None, run: int | None = None) -> QuerySet[Note]:
    """The oldest first."""
    return Note.objects.filter(study=study, run=run).select_related("author", "editor").order_by("pk")


def notes_about(*, runs: QuerySet[Run], studies: Sequence[int]) -> QuerySet[Note]:
    """On these runs and these studies; where no study is named, on every study that holds one of the runs."""
    holders = Membership.objects.filter(run__in=runs).order_by().values("study")
    on_studies = Q(study__in=list(studies)) if studies else Q(study__in=holders)
    return Note.objects.filter(on_studies | Q(run__in=runs)).select_related("author").order_by("pk")
