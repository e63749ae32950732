from __future__ import annotations

import pytest

from experiments.core.errors import NotAllowedError
from experiments.models import AuditEntry, User
from experiments.studies.services.changes import study_archive, study_restore
from tests.experiments import lab


def test_an_archived_study_keeps_its_runs_and_comes_back(owner: User) -> None:
    study = study_archive(study=lab.launched(owner), actor=owner)
    first = study.archived
    assert first is not None
    assert study_archive(study=study, actor=owner).archived == first
    assert study.runs.count() == 6
    assert study_restore(study=study, actor=owner).archived is None
    noted = AuditEntry.objects.exclude(action="study.launch").order_by("pk")
    assert list(noted.values_list("actor_name", "action", "subject")) == [
        ("owner", "study.archive", f"study {study.pk}"),
        ("owner", "study.restore", f"study {study.pk}"),
    ]


def test_only_the_owner_and_admins_archive(owner: User, stranger: User, viewer: User, admin: User) -> None:
    study = lab.launched(owner)
    for person in (stranger, viewer):
        with pytest.raises(NotAllowedError):
            study_archive(study=study, actor=person)
        with pytest.raises(NotAllowedError):
            study_restore(study=study, actor=person)
    assert study_archive(study=study, actor=admin).archived is not None
