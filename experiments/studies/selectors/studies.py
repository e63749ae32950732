"""Studies as the pages show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Exists, Func, OuterRef, Q, QuerySet, TextField

from experiments.labels.axes import axes_text
from experiments.models import Membership, Run, RunState, Study
from experiments.statistics.curves import best_finals
from experiments.statistics.over_seeds import SeedStatistics
from experiments.studies.selectors.progress import Progress, progress_of

PAGE = 50
MOST_TAGS = 24


@dataclass(frozen=True)
class StudyRow:
    study: Study
    axes: str
    progress: Progress
    best: SeedStatistics | None


@dataclass(frozen=True)
class WatchedStudy:
    study: Study
    running: bool


@dataclass(frozen=True)
class LabCounts:
    studies: int
    runs: int
    states: Counter[str]
    archived: int = 0


@dataclass(frozen=True)
class StudyFilters:
    """What the list shows: of one person, with one tag, archived ones instead of the others."""

    search: str = ""
    tag: str = ""
    owner: int | None = None
    archived: bool = False

    @property
    def narrow(self) -> bool:
        return bool(self.search or self.tag or self.owner or self.archived)


def study_rows(*, search: str = "", before: int | None = None, filters: StudyFilters | None = None) -> list[StudyRow]:
    """Newest first, a page at a time; `before` is the id of the last study of the page before."""
    studies = filter_studies(filters or StudyFilters(search))
    if before is not None:
        studies = studies.filter(pk__lt=before)
    return load_study_rows(list(studies.select_related("owner").order_by("-pk")[:PAGE]))


def filter_studies(filters: StudyFilters) -> QuerySet[Study]:
    studies = search_studies(filters.search).filter(archived__isnull=not filters.archived)
    if filters.tag:
        studies = studies.filter(tags__contains=[filters.tag])
    return studies if filters.owner is None else studies.filter(owner=filters.owner)


def search_studies(search: str) -> QuerySet[Study]:
    """Every word must occur in the name, description, a tag, the origin, the owner's name or the blocks."""
    studies = Study.objects.all()
    for word in search.split():
        studies = studies.filter(
            Q(name__icontains=word)
            | Q(description__icontains=word)
            | Q(tags__icontains=word)
            | Q(origin__icontains=word)
            | Q(owner__username__icontains=word)
            | Q(blocks__icontains=word)
        )
    return studies


def load_study_rows(studies: Sequence[Study]) -> list[StudyRow]:
    progress, best = progress_of(studies), best_finals(studies=[study.pk for study in studies])
    return [StudyRow(each, axes_text(each.blocks), progress[each.pk], best.get(each.pk)) for each in studies]


def lab_counts() -> LabCounts:
    states = Counter(dict(Run.objects.order_by().values_list("state").annotate(runs=Count("pk"))))
    counts = Study.objects.aggregate(listed=Count("pk", filter=Q(archived=None)), all=Count("pk"))
    return LabCounts(counts["listed"], states.total(), states, counts["all"] - counts["listed"])


def tag_counts(*, filters: StudyFilters) -> list[tuple[str, int]]:
    """The commonest tags of what is listed, whichever of them is chosen."""
    listed = filter_studies(replace(filters, tag="", search="")).order_by()
    tags = listed.annotate(tag=Func("tags", function="unnest", output_field=TextField()))
    counted = Counter(tags.values_list("tag", flat=True))
    return sorted(counted.most_common(MOST_TAGS), key=lambda each: (-each[1], each[0].lower()))


def known_tags() -> list[str]:
    return sorted({tag for tag, _ in tag_counts(filters=StudyFilters())}, key=str.lower)


def study_to_watch() -> WatchedStudy | None:
    """The newest study that runs; otherwise the newest that has something to show."""
    members = Membership.objects.filter(study=OuterRef("pk"))
    at_work = Exists(members.filter(run__state=RunState.RUNNING))
    listed = Study.objects.filter(archived=None)
    with_rounds = listed.filter(at_work | Exists(members.filter(run__rounds_done__gt=0)))
    study = with_rounds.annotate(at_work=at_work).order_by("-at_work", "-pk").first()
    return WatchedStudy(study, study.at_work) if study else None
