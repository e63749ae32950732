"""Studies as the pages show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from experiments.charts.labels import axes_text
from experiments.models import Membership, Run, RunState, Study
from experiments.selectors.progress import Progress, progress_of
from experiments.selectors.statistics import SeedStatistics, best_finals

PAGE = 50


@dataclass(frozen=True)
class StudyRow:
    study: Study
    axes: str
    progress: Progress
    best: SeedStatistics | None


@dataclass(frozen=True)
class Watched:
    study: Study
    running: bool


@dataclass(frozen=True)
class LabCounts:
    studies: int
    runs: int
    states: Counter[str]


def study_rows(*, search: str = "", before: int | None = None) -> list[StudyRow]:
    """Newest first, a page at a time; `before` is the id of the last study of the page before."""
    found = matching(search)
    if before is not None:
        found = found.filter(pk__lt=before)
    return rows_for(list(found.select_related("owner").order_by("-pk")[:PAGE]))


def matching(search: str) -> QuerySet[Study]:
    """Every word must occur in the name, description, a tag, the origin, the owner's name or the blocks."""
    found = Study.objects.all()
    for word in search.split():
        found = found.filter(
            Q(name__icontains=word)
            | Q(description__icontains=word)
            | Q(tags__icontains=word)
            | Q(origin__icontains=word)
            | Q(owner__username__icontains=word)
            | Q(blocks__icontains=word)
        )
    return found


def rows_for(studies: Sequence[Study]) -> list[StudyRow]:
    progress, best = progress_of(studies), best_finals(studies=[study.pk for study in studies])
    return [StudyRow(each, axes_text(each.blocks), progress[each.pk], best.get(each.pk)) for each in studies]


def lab_counts() -> LabCounts:
    states = Counter(dict(Run.objects.order_by().values_list("state").annotate(runs=Count("pk"))))
    return LabCounts(Study.objects.count(), states.total(), states)


def study_to_watch() -> Watched | None:
    """The newest study that runs; otherwise the newest that has something to show."""
    members = Membership.objects.filter(study=OuterRef("pk"))
    at_work = Exists(members.filter(run__state=RunState.RUNNING))
    measured = Study.objects.filter(at_work | Exists(members.filter(run__rounds_done__gt=0)))
    found = measured.annotate(at_work=at_work).order_by("-at_work", "-pk").first()
    return Watched(found, found.at_work) if found else None
