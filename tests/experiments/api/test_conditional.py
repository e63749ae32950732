"""Who has an answer already is told so in a few bytes."""

from __future__ import annotations

from django.test import Client

from experiments.models import User
from experiments.studies.services.changes import study_update
from tests.experiments import lab


def test_what_has_not_changed_is_not_sent_again(mine: Client, owner: User) -> None:
    study = lab.launched(owner)
    first = mine.get(f"/api/v1/studies/{study.pk}")
    again = mine.get(f"/api/v1/studies/{study.pk}", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    study_update(study=study, actor=owner, name="Renamed")
    changed = mine.get(f"/api/v1/studies/{study.pk}", headers={"If-None-Match": first.headers["ETag"]})
    assert (changed.status_code, changed.json()["name"]) == (200, "Renamed")


def test_reads_are_kept_for_the_reader_only(mine: Client) -> None:
    answer = mine.get("/api/v1/studies")
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert {"Authorization", "Cookie"} <= set(answer.headers["Vary"].split(", "))


def test_refusals_and_writes_carry_no_etag(mine: Client, owner: User) -> None:
    study = lab.launched(owner)
    assert "ETag" not in mine.get("/api/v1/studies/999999").headers
    assert "ETag" not in mine.post(f"/api/v1/studies/{study.pk}/pause").headers
