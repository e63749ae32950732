"""What home shows: studies at work, studies that ended this week, and failures that need somebody."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from experiments.bookmarks.selectors import pinned_studies
from experiments.models import Membership, Run, RunState, Study, User, Worker
from experiments.queue.selectors.queue import QueueFilters, studies_in_queue
from experiments.queue.selectors.workers import TROUBLE, living_workers
from experiments.results.selectors.runs import first_line
from experiments.studies.selectors.studies import StudyRow, load_study_rows

WEEK = timedelta(days=7)
FAILURES_FOR = timedelta(days=14)
"""Older failures are found on their study's page: nobody has missed them for two weeks."""
MOST_AT_WORK, MOST_ENDED, MOST_FAILURES = 8, 10, 6


@dataclass(frozen=True)
class StudyGroup:
    """The first of them, and how many there are in all."""

    rows: list[StudyRow]
    count: int

    @property
    def more(self) -> int:
        return self.count - len(self.rows)


@dataclass(frozen=True)
class Failure:
    """Runs of a study that failed for one reason; `example` is one of them."""

    study: Study
    reason: str
    runs: int
    example: int
    at: datetime


@dataclass(frozen=True)
class Attention:
    """What goes no further unless somebody does something."""

    failures: list[Failure]
    more: int
    waiting_without_worker: int
    broken_workers: list[Worker]

    @property
    def needed(self) -> bool:
        return bool(self.failures or self.waiting_without_worker or self.broken_workers)


@dataclass(frozen=True)
class LabHome:
    pinned: StudyGroup
    at_work: StudyGroup
    ended: StudyGroup
    attention: Attention


def lab_home(person: User) -> LabHome:
    """Numbers and curves of all the studies it shows are read together."""
    pinned = pinned_studies(person=person)
    at_work, ended = studies_at_work(), studies_ended(since=timezone.now() - WEEK)
    first_at_work, first_ended = at_work[:MOST_AT_WORK], ended[:MOST_ENDED]
    studies = {study.pk: study for study in [*pinned, *first_at_work, *first_ended]}
    rows = {row.study.pk: row for row in load_study_rows(list(studies.values()), pictures=True)}
    return LabHome(
        StudyGroup([rows[study.pk] for study in pinned], len(pinned)),
        StudyGroup([rows[study.pk] for study in first_at_work], len(at_work)),
        StudyGroup([rows[study.pk] for study in first_ended], len(ended)),
        lab_attention(),
    )


def studies_at_work() -> list[Study]:
    """Those with a run at work first, then those that wait, each in the order in which they are served."""
    busy = set(Membership.objects.filter(run__in=runs_at_work()).values_list("study", flat=True))
    studies = studies_in_queue(QueueFilters()).filter(archived=None).defer(None)
    return sorted(studies, key=lambda study: study.pk not in busy)


def runs_at_work() -> QuerySet[Run]:
    return Run.objects.filter(state=RunState.RUNNING).order_by()


def studies_ended(*, since: datetime) -> list[Study]:
    """Those that have nothing left to do and finished a run since then, the latest first.

    A study whose runs were all there already ended when it was launched.
    """
    ends = dict(
        Membership.objects.filter(run__finished__gt=since, reused=False)
        .order_by()
        .values_list("study")
        .annotate(end=Max("run__finished"))
    )
    waiting = Exists(Membership.objects.filter(study=OuterRef("pk"), waiting=True))
    at_work = Membership.objects.filter(run__in=runs_at_work()).values("study")
    recent = Study.objects.filter(Q(pk__in=list(ends)) | Q(created__gt=since), archived=None).select_related("owner")
    studies = recent.exclude(waiting).exclude(pk__in=at_work)
    return sorted(studies, key=lambda study: (ends.get(study.pk, study.created), study.pk), reverse=True)


def lab_attention() -> Attention:
    living = list(living_workers())
    waiting = 0 if living else Membership.objects.filter(waiting=True, study__paused=False).count()
    failures = failures_since(timezone.now() - FAILURES_FOR)
    broken = [worker for worker in living if worker.facts.get(TROUBLE)]
    return Attention(failures[:MOST_FAILURES], max(0, len(failures) - MOST_FAILURES), waiting, broken)


def failures_since(since: datetime) -> list[Failure]:
    """By study and first line of the reason, the latest first; those of studies put away or cancelled need nobody."""
    failed = Membership.objects.filter(
        run__state=RunState.FAILED, run__finished__gt=since, study__archived=None, study__cancelled=False
    ).order_by()
    rows = failed.values_list("study", "run__reason").annotate(
        runs=Count("run_id"), example=Min("run_id"), at=Max("run__finished")
    )
    studies = Study.objects.select_related("owner").in_bulk({study for study, *_ in rows})
    groups: dict[tuple[int, str], Failure] = {}
    for study, reason, runs, example, at in rows:
        if study not in studies:
            continue  # deleted meanwhile
        new = Failure(studies[study], first_line(reason), runs, example, at)
        groups[study, new.reason] = merge_failures(groups.get((study, new.reason)), new)
    return sorted(groups.values(), key=lambda failure: failure.at, reverse=True)


def merge_failures(first: Failure | None, second: Failure) -> Failure:
    """Of one study, with the same first line."""
    if first is None:
        return second
    earliest, latest = min(first.example, second.example), max(first.at, second.at)
    return replace(first, runs=first.runs + second.runs, example=earliest, at=latest)
