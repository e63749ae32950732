"""The table of studies: which of them, in which order, a page at a time; and by what they can be chosen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

from django.db import connection
from django.db.models import Case, CharField, Count, Exists, F, Func, Max, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Lower

from experiments.models import Membership, RunState, Study
from experiments.statistics.finals import best_finals
from experiments.studies.selectors.studies import StudyRow, load_study_rows, search_studies

PAGE = 50
MOST_TAGS = 24
NEWEST, BEST = "-created", "best"
MEMBERS = Membership.objects.filter(study=OuterRef("pk")).order_by()
WAITING = Exists(MEMBERS.filter(waiting=True))


def some_run(state: str) -> Exists:
    return Exists(MEMBERS.filter(run__state=state))


# As `Progress.state` has it, for lists that are sorted and cut by the database.
STATE = Case(
    When(Q(cancelled=True) & Exists(MEMBERS.exclude(run__state=RunState.DONE)), then=Value("cancelled")),
    When(Q(paused=True) & WAITING, then=Value("paused")),
    When(some_run(RunState.RUNNING), then=Value("running")),
    When(WAITING, then=Value("queued")),
    When(some_run(RunState.FAILED), then=Value("failed")),
    When(some_run(RunState.CANCELLED), then=Value("cancelled")),
    When(Exists(MEMBERS), then=Value("done")),
    default=Value("empty"),
    output_field=CharField(),
)
STUDY_STATES = ("running", "queued", "paused", "done", "failed", "cancelled")
SORT_KEYS: dict[str, Any] = {
    "created": F("created"),
    "name": Lower("name"),
    "owner": Lower("owner__username"),
    "dataset": RawSQL("(jsonb_path_query_first(blocks, '$[*].dataset[*].name[*]') #>> '{}')", []),
    "state": STATE,
    "runs": Count("memberships"),
    "ended": Max("memberships__run__finished"),
}
SORTS = (*SORT_KEYS, BEST)
LOGGED_ORIGINS = ("logged", "archive")
"""Of studies whose runs scripts told, here or in the lab that they come from."""
STATED_DATASET = ("dataset", "dataset.name")
DATASETS = """
    WITH written(study, name) AS (
        SELECT study.id, jsonb_path_query(study.blocks, '$[*].dataset[*].name[*]')
        FROM experiments_study study WHERE study.archived IS NULL
        UNION ALL
        SELECT study.id, said.value -> keys.key
        FROM experiments_study study, jsonb_path_query(study.blocks, '$[*].app.config') AS said(value),
            unnest(%s::text[]) AS keys(key)
        WHERE study.archived IS NULL AND study.origin = ANY(%s)
    )
    SELECT name #>> '{}', count(DISTINCT study) FROM written WHERE jsonb_typeof(name) = 'string'
    GROUP BY 1 ORDER BY 2 DESC, 1
"""


@dataclass(frozen=True)
class StudyFilters:
    """What the list shows: of one person, with one tag, archived ones instead of the others; in which order."""

    search: str = ""
    tag: str = ""
    owner: str = ""
    dataset: str = ""
    state: str = ""
    archived: bool = False
    sort: str = NEWEST


@dataclass(frozen=True)
class StudyPage:
    rows: list[StudyRow]
    count: int
    page: int

    @property
    def first(self) -> int:
        return (self.page - 1) * PAGE + 1

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1

    @property
    def following(self) -> int | None:
        return self.page + 1 if self.last < self.count else None


def list_studies(filters: StudyFilters, *, page: int = 1) -> StudyPage:
    studies = filter_studies(filters)
    start, end = (page - 1) * PAGE, page * PAGE
    if filters.sort.removeprefix("-") == BEST:
        ids = by_best_value(list(studies.values_list("pk", flat=True)), descending=filters.sort.startswith("-"))
    else:
        ids = list(studies.order_by(*study_order(filters.sort)).values_list("pk", flat=True))
    found = Study.objects.select_related("owner").in_bulk(ids[start:end])
    shown = [found[pk] for pk in ids[start:end] if pk in found]
    return StudyPage(load_study_rows(shown, pictures=True), len(ids), page)


def study_order(sort: str) -> list[Any]:
    """Studies without a value come last, whichever way it goes; those that are equal, the newest first."""
    key = SORT_KEYS[sort.removeprefix("-")]
    return [key.desc(nulls_last=True) if sort.startswith("-") else key.asc(nulls_last=True), "-pk"]


def by_best_value(studies: list[int], *, descending: bool) -> list[int]:
    """Those without a best value last."""
    best = {study: each.mean or 0.0 for study, each in best_finals(studies=studies).items()}
    sign = -1 if descending else 1
    return sorted(studies, key=lambda study: (study not in best, sign * best.get(study, 0.0), -study))


def filter_studies(filters: StudyFilters) -> QuerySet[Study]:
    studies = search_studies(filters.search).filter(archived__isnull=not filters.archived)
    if filters.tag:
        studies = studies.filter(tags__contains=[filters.tag])
    if filters.dataset:
        studies = studies.filter(about_dataset(filters.dataset))
    if filters.state:
        studies = studies.annotate(state=STATE).filter(state=filters.state)
    return studies.filter(owner__username=filters.owner) if filters.owner else studies


def about_dataset(name: str) -> Q:
    """Whose blocks name it, alone or in a list of values; of a script's runs its config may."""
    written = ({"name": name}, {"name": [name]}, [{"name": name}], [{"name": [name]}])
    conditions = [Q(blocks__contains=[{"dataset": each}]) for each in written]
    stated = reduce(or_, [Q(blocks__contains=[{"app": {"config": {key: name}}}]) for key in STATED_DATASET])
    return reduce(or_, conditions) | (stated & Q(origin__in=LOGGED_ORIGINS))


def tag_counts(*, filters: StudyFilters) -> list[tuple[str, int]]:
    """The commonest tags of what is listed, whichever of them is chosen."""
    listed = filter_studies(replace(filters, tag="", search="", state="", dataset="")).order_by()
    tags = listed.annotate(tag=Func("tags", function="unnest", output_field=TextField()))
    counted = Counter(tags.values_list("tag", flat=True))
    return sorted(counted.most_common(MOST_TAGS), key=lambda each: (-each[1], each[0].lower()))


def dataset_counts() -> dict[str, int]:
    """The data sets that studies name, and how many studies name each; the commonest first."""
    with connection.cursor() as cursor:
        cursor.execute(DATASETS, [list(STATED_DATASET), list(LOGGED_ORIGINS)])
        return dict(cursor.fetchall())


def owner_counts(*, filters: StudyFilters) -> list[tuple[str, int]]:
    """Who has studies among what is listed, whoever is chosen."""
    listed = filter_studies(StudyFilters(archived=filters.archived)).order_by()
    return list(listed.values_list("owner__username").annotate(studies=Count("pk")).order_by("owner__username"))


def known_tags() -> list[str]:
    return sorted({tag for tag, _ in tag_counts(filters=StudyFilters())}, key=str.lower)
