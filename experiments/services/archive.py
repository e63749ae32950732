"""Archiving: a study leaves the lists and keeps everything. Its runs go on, and it can be brought back."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from experiments.live.notify import notify_study
from experiments.models import Study, User
from experiments.services.rights import require_manage


def study_archive(*, study: Study, actor: User) -> Study:
    """Archived twice, it keeps the first date."""
    require_manage(actor, study)
    with transaction.atomic():
        Study.objects.filter(pk=study.pk, archived=None).update(archived=Now())
        notify_study(study.pk, "archived")
    study.refresh_from_db()
    return study


def study_restore(*, study: Study, actor: User) -> Study:
    require_manage(actor, study)
    with transaction.atomic():
        Study.objects.filter(pk=study.pk).update(archived=None)
        notify_study(study.pk, "restored")
    study.refresh_from_db()
    return study
