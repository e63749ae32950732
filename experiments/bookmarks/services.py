"""Pinning and starring: everyone pins for themselves, admins for all; who manages a study stars its cells."""

from __future__ import annotations

from django.db import transaction

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_admin, require_manage
from experiments.models import Baseline, Pin, Study, User
from experiments.results.live.notify import notify_study
from workers.errors import Problem, SpecError

NO_SUCH_CELL = "The study has no such cell: take its key from a run's `cell`."


def study_pin(*, study: Study, actor: User, for_all: bool = False) -> Pin:
    """Pinned once, however often it is asked for."""
    if for_all:
        require_admin(actor)
    with transaction.atomic():
        pin, new = Pin.objects.get_or_create(study=study, person=None if for_all else actor)
        notify_study(study.pk, "pinned")
        if new and for_all:
            audit_record(actor=actor, action="pin.create", subject=f"study {study.pk}", name=study.name)
    return pin


def study_unpin(*, study: Study, actor: User, for_all: bool = False) -> None:
    if for_all:
        require_admin(actor)
    with transaction.atomic():
        gone, _ = Pin.objects.filter(study=study, person=None if for_all else actor).delete()
        notify_study(study.pk, "unpinned")
        if gone and for_all:
            audit_record(actor=actor, action="pin.delete", subject=f"study {study.pk}", name=study.name)


def baseline_star(*, study: Study, cell: str, actor: User) -> Baseline:
    """Starred once, however often it is asked for."""
    require_manage(actor, study)
    if not study.runs.filter(cell=cell).exists():
        raise SpecError([Problem("cell", NO_SUCH_CELL)], "The cell cannot be starred.")
    with transaction.atomic():
        baseline, new = Baseline.objects.get_or_create(study=study, cell=cell, defaults={"starred_by": actor})
        notify_study(study.pk, "starred")
        if new:
            audit_record(actor=actor, action="baseline.star", subject=f"study {study.pk}", cell=cell)
    return baseline


def baseline_unstar(*, baseline: Baseline, actor: User) -> None:
    require_manage(actor, baseline.study)
    with transaction.atomic():
        notify_study(baseline.study_id, "unstarred")
        if Baseline.objects.filter(pk=baseline.pk).delete()[0]:
            audit_record(
                actor=actor, action="baseline.unstar", subject=f"study {baseline.study_id}", cell=baseline.cell
            )
