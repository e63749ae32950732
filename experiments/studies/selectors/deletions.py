"""What deleting a study would take away, and what stays because another study holds it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from experiments.models import Job, JobKind, Membership, Note, Round, Run, RunState, Study


@dataclass(frozen=True)
class Holder:
    """Another study, and how many of the runs it holds."""

    study: Study
    runs: int


@dataclass(frozen=True)
class Deletion:
    """`goes` counts runs by state, `rounds` are those stored of them; `stays` are runs that `holders` hold."""

    goes: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    models: int = 0
    notes: int = 0
    stays: int = 0
    holders: list[Holder] = field(default_factory=list)

    @property
    def runs(self) -> int:
        return self.goes.total()

    @property
    def states(self) -> list[tuple[str, int]]:
        return [(state, self.goes[state]) for state in RunState.values if self.goes[state]]


def deletion_of(study: Study) -> Deletion:
    going = only_held_by(study)
    goes = Counter(dict(going.order_by().values_list("state").annotate(runs=Count("pk"))))
    held = Membership.objects.filter(study=study).count()
    return Deletion(
        goes=goes,
        rounds=Round.objects.filter(run__in=going).count(),
        models=going.exclude(artifact="").count(),
        notes=Note.objects.filter(Q(study=study) | Q(run__in=going)).count(),
        stays=held - goes.total(),
        holders=other_holders(study),
    )


def other_holders(study: Study) -> list[Holder]:
    """The other studies that hold some of its runs, those with most of them first."""
    shared: QuerySet[Run] = Run.objects.filter(studies=study)
    counted = (
        Study.objects.filter(memberships__run__in=shared)
        .exclude(pk=study.pk)
        .annotate(held=Count("memberships"))
        .select_related("owner")
        .order_by("-held", "pk")
    )
    return [Holder(each, each.held) for each in counted]


def deletion_subject(study: int) -> str:
    """By which the job that deletes it is found."""
    return f"study {study}"


def deletion_job(study: Study) -> Job | None:
    return Job.objects.filter(kind=JobKind.DELETION, subject=deletion_subject(study.pk)).first()


def only_held_by(study: Study) -> QuerySet[Run]:
    others = Membership.objects.filter(run=OuterRef("pk")).exclude(study=study.pk)
    return Run.objects.filter(studies=study).exclude(Exists(others))
