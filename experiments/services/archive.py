"""Archiving: a study leaves the lists and keeps everything. Its runs go on, and it can be brought back."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from experiments.live.notify import notify_study
from experiments.models import Study, User
from experiments.services.audit import audit_record
from experiments.services.rights import require_manage
from experiments.services.study_changes import refreshed


def study_archive(*, study: Study, actor: User) -> Study:
    """Archived twice, it keeps the first date."""
    require_manage(actor, study)
    with transaction.atomic():
        if Study.objects.filter(pk=study.pk, archived=None).update(archived=Now()):
            audit_record(actor=actor, action="study.archive", subject=f"study {study.pk}", name=study.name)
            notify_study(study.pk, "archived")
    return refreshed(study)


def study_restore(*, study: Study, actor: User) -> Study:
    require_manage(actor, study)
    with transaction.atomic():
        if Study.objects.filter(pk=study.pk, archived__isnull=False).update(archived=None):
            audit_record(actor=actor, action="study.restore", subject=f"study {study.pk}", name=study.name)
            notify_study(study.pk, "restored")
    return refreshed(study)
