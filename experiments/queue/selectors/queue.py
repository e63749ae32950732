"""The queue as people see it: what runs, what waits and in which order, and what ended badly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet

from experiments.models import Device, Membership, Run, RunState, Study, User
from experiments.queue.selectors.workers import living_device_types
from experiments.studies.selectors.progress import Progress, progress_of

PAGE = 200
MOST_STUDIES = 20
LONG_STUDY_FIELDS = ("blocks", "source", "description")
QUEUE_STATES = (RunState.RUNNING, RunState.QUEUED, RunState.FAILED, RunState.CANCELLED)

# The studies that wait, by jumping from one to the next in the index of what waits; and who has how much running.
WAITING_AND_BUSY = """
WITH RECURSIVE waiting AS (
    (SELECT study_id FROM experiments_membership WHERE waiting ORDER BY study_id, turn LIMIT 1)
    UNION ALL
    SELECT (
        SELECT further.study_id FROM experiments_membership AS further
        WHERE further.waiting AND further.study_id > waiting.study_id ORDER BY further.study_id, further.turn LIMIT 1
    ) FROM waiting WHERE waiting.study_id IS NOT NULL
), busy AS (
    SELECT study.owner_id, count(DISTINCT run.id) AS runs
    FROM experiments_run AS run
    JOIN experiments_membership AS membership ON membership.run_id = run.id
    JOIN experiments_study AS study ON study.id = membership.study_id
    WHERE run.state = 'running' AND NOT study.cancelled AND NOT jsonb_exists(run.spec, 'logged')
    GROUP BY study.owner_id
)
"""
# As workers will take them, were all runs equally long: see `queue.services.claim`. A person with two runs at work is
# two places behind one who has none. What is paused, or needs a GPU or began on a type of device that no worker has,
# comes last. No study has more runs among the first n than its own first n, which is `deep`.
QUEUE_ORDER = f"""
{WAITING_AND_BUSY}, held AS (
    SELECT DISTINCT ON (first.run_id)
        first.run_id, first.turn, study.id AS study_id, study.owner_id, study.priority,
        study.paused OR study.requires <> ALL(%(devices)s) OR run.requires <> ALL(%(devices)s)
            OR run.device_type <> ALL(%(device_types)s) AS stuck
    FROM waiting JOIN experiments_study AS study ON study.id = waiting.study_id CROSS JOIN LATERAL (
        SELECT membership.run_id, membership.turn FROM experiments_membership AS membership
        WHERE membership.study_id = study.id AND membership.waiting ORDER BY membership.turn LIMIT %(deep)s
    ) AS first JOIN experiments_run AS run ON run.id = first.run_id
    WHERE NOT study.cancelled
    ORDER BY first.run_id, stuck, study.priority DESC, study.id
), ranked AS (
    SELECT held.*, COALESCE(busy.runs, 0) + row_number() OVER (
        PARTITION BY held.stuck, held.priority, held.owner_id ORDER BY held.study_id, held.turn
    ) AS rank
    FROM held LEFT JOIN busy ON busy.owner_id = held.owner_id
), placed AS (
    SELECT ranked.run_id, ranked.stuck,
        row_number() OVER (ORDER BY ranked.stuck, ranked.priority DESC, ranked.rank, ranked.study_id) AS place
    FROM ranked
)
SELECT placed.run_id, CASE WHEN NOT placed.stuck THEN placed.place END FROM placed
WHERE (%(study)s IS NULL AND %(person)s IS NULL) OR EXISTS (
    SELECT FROM experiments_membership AS membership
    JOIN experiments_study AS study ON study.id = membership.study_id
    WHERE membership.run_id = placed.run_id
        AND study.id = COALESCE(%(study)s, study.id) AND study.owner_id = COALESCE(%(person)s, study.owner_id)
)
ORDER BY placed.place LIMIT %(limit)s OFFSET %(offset)s
"""

# Over its latest rounds of this attempt, so that a change of pace shows.
RUN_SPEEDS = """
SELECT run.id, (count(*) - 1) / NULLIF(extract(epoch FROM max(latest.committed) - min(latest.committed)), 0)::float8
FROM experiments_run AS run CROSS JOIN LATERAL (
    SELECT round.committed FROM experiments_round AS round
    WHERE round.run_id = run.id AND round.committed >= run.started ORDER BY round.round DESC LIMIT 100
) AS latest
WHERE run.id = ANY(%s) GROUP BY run.id HAVING count(*) > 1
"""


@dataclass(frozen=True)
class QueueFilters:
    """What a person looks at; nothing chosen means what runs and what waits."""

    study: int | None = None
    person: User | None = None
    state: str = ""

    @property
    def states(self) -> tuple[str, ...]:
        return (self.state,) if self.state else (RunState.RUNNING, RunState.QUEUED)


@dataclass(frozen=True)
class QueueRow:
    """`place` is the run's turn among all that wait; None where it runs, has ended, is paused or lacks a GPU."""

    run: Run
    studies: list[Study]
    place: int | None = None
    speed: float | None = None

    @property
    def left(self) -> timedelta | None:
        rounds = self.run.rounds_total - self.run.rounds_done
        return timedelta(seconds=rounds / self.speed) if self.speed else None


@dataclass(frozen=True)
class CellInQueue:
    """The runs of one cell in the same studies, as far as they are on one page of the queue: they differ in seed."""

    rows: list[QueueRow]

    @property
    def first(self) -> QueueRow:
        return self.rows[0]

    @property
    def key(self) -> str:
        return f"{'-'.join(str(study.pk) for study in self.first.studies)}-{self.first.run.cell[:16]}"

    @property
    def counts(self) -> list[tuple[str, int]]:
        states = Counter(row.run.state for row in self.rows)
        return [(state, states[state]) for state in QUEUE_STATES if states[state]]

    @property
    def place(self) -> int | None:
        """Of the one that is taken next."""
        return min((row.place for row in self.rows if row.place), default=None)

    @property
    def rounds_done(self) -> int:
        return sum(row.run.rounds_done for row in self.rows)

    @property
    def rounds_total(self) -> int:
        return sum(row.run.rounds_total for row in self.rows)


def group_by_cell(rows: Iterable[QueueRow]) -> list[CellInQueue]:
    """Each where its first run is."""
    groups: dict[tuple[object, ...], list[QueueRow]] = {}
    for row in rows:
        groups.setdefault((row.run.cell, *(study.pk for study in row.studies)), []).append(row)
    return [CellInQueue(group) for group in groups.values()]


@dataclass(frozen=True)
class StudyInQueue:
    study: Study
    progress: Progress


def queue_rows(filters: QueueFilters, *, page: int = 1) -> list[QueueRow]:
    """Running runs first, then queued ones in the order in which workers will take them; what ended, latest first."""
    start, end = (page - 1) * PAGE, page * PAGE
    if filters.state in (RunState.FAILED, RunState.CANCELLED):
        return load_queue_rows(without_place(filter_queue(filters).order_by("-pk")[start:end]))
    running = without_place(filter_queue(filters).filter(state=RunState.RUNNING).order_by("started", "pk"))
    if filters.state == RunState.RUNNING:
        return load_queue_rows(running[start:end])
    before = [] if filters.state == RunState.QUEUED else running
    first = before[start:end]
    return load_queue_rows([*first, *waiting_runs(filters, PAGE - len(first), max(0, start - len(before)))])


def without_place(runs: QuerySet[Run]) -> list[tuple[int, int | None]]:
    return [(run, None) for run in runs.values_list("pk", flat=True)]


def waiting_runs(filters: QueueFilters, limit: int, offset: int) -> list[tuple[int, int | None]]:
    scope = {"study": filters.study, "person": filters.person.pk if filters.person else None}
    with connection.cursor() as cursor:
        deep = None if any(scope.values()) else limit + offset
        cursor.execute(QUEUE_ORDER, {**scope, **device_scope(), "deep": deep, "limit": limit, "offset": offset})
        return list(cursor.fetchall())


def device_scope() -> dict[str, list[str]]:
    """What runs may require, and may have begun on, to have a place in the order; without workers, CPUs will come."""
    types = living_device_types()
    return {"devices": requirements_met(types), "device_types": ["", *(types or {"cpu"})]}


def available_devices() -> list[str]:
    """What studies may require and get."""
    return requirements_met(living_device_types())


def requirements_met(device_types: set[str]) -> list[str]:
    return [Device.CPU, Device.GPU] if device_types - {"cpu"} else [Device.CPU]


def load_queue_rows(places: Sequence[tuple[int, int | None]]) -> list[QueueRow]:
    holders = Prefetch("studies", Study.objects.select_related("owner").defer(*LONG_STUDY_FIELDS).order_by("pk"))
    light = Run.objects.defer("findings", "provenance").select_related("worker").prefetch_related(holders)
    runs = light.in_bulk([run for run, _ in places])
    speeds = speeds_of(run for run, each in runs.items() if each.state == RunState.RUNNING)
    existing = [(runs[run], place) for run, place in places if run in runs]
    return [QueueRow(run, list(run.studies.all()), place, speeds.get(run.pk)) for run, place in existing]


def speeds_of(runs: Iterable[int]) -> dict[int, float]:
    """Rounds per second, of those that have committed two rounds or more since they were taken."""
    with connection.cursor() as cursor:
        cursor.execute(RUN_SPEEDS, [list(runs)])
        return {run: speed for run, speed in cursor.fetchall() if speed is not None}


def filter_queue(filters: QueueFilters) -> QuerySet[Run]:
    """Every run that the choice names, in no order."""
    return Run.objects.filter(in_scope(filters), state__in=filters.states)


def in_scope(filters: QueueFilters) -> Q | Exists:
    scope: dict[str, Any] = {"study": filters.study, "study__owner": filters.person}
    conditions = {name: value for name, value in scope.items() if value is not None}
    return Exists(Membership.objects.filter(run=OuterRef("pk"), **conditions)) if conditions else Q()


def queue_counts(filters: QueueFilters) -> Counter[str]:
    """By state, whichever state is chosen."""
    runs = Run.objects.filter(in_scope(filters), state__in=QUEUE_STATES).order_by()
    return Counter(dict(runs.values_list("state").annotate(runs=Count("pk"))))


def studies_in_queue(filters: QueueFilters) -> QuerySet[Study]:
    """Those that have runs at work or waiting, in the order in which they are served."""
    running = Run.objects.filter(state=RunState.RUNNING).order_by()
    at_work = Membership.objects.filter(run__in=running).order_by().values("study")
    held_back = Membership.objects.filter(waiting=True).order_by().values("study").distinct()
    studies = Study.objects.filter(Q(pk__in=at_work) | Q(pk__in=held_back), cancelled=False)
    studies = studies.select_related("owner").defer(*LONG_STUDY_FIELDS)
    studies = studies.filter(owner=filters.person) if filters.person else studies
    studies = studies.filter(pk=filters.study) if filters.study else studies
    return studies.order_by("paused", "-priority", "pk")


def studies_with_progress(studies: Sequence[Study]) -> list[StudyInQueue]:
    progress = progress_of(studies)
    return [StudyInQueue(study, progress[study.pk]) for study in studies]


def people_with_studies() -> QuerySet[User]:
    return User.objects.filter(Exists(Study.objects.filter(owner=OuterRef("pk")))).order_by("username")
