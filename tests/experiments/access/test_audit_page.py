"""The audit log in the browser: filters, links to what is still there, and imports."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from experiments.models import AuditEntry, Study, User
from experiments.studies.services.deletion import study_delete
from tests.experiments import lab


def page(client: Client, query: str = "") -> str:
    return client.get(f"/audit?{query}").content.decode()


def test_a_study_that_is_there_is_a_link_and_a_deleted_one_is_not(browsers: dict[str, Client], owner: User) -> None:
    gone, kept = lab.launched(owner), lab.launched(owner, "Kept", rounds=3)
    number = gone.pk
    study_delete(study=gone, actor=owner)
    said = page(browsers["admin"])
    assert f'<a href="/studies/{kept.pk}">study {kept.pk}</a>' in said
    assert f"<td>study {number}</td>" in said


def test_entries_are_filtered_by_kind_person_and_text(browsers: dict[str, Client], study: Study) -> None:
    AuditEntry.objects.create(actor_name="owner", action="study.cancel", subject="study 7", detail={"name": "Rivers"})
    AuditEntry.objects.create(actor_name="boss", action="user.role", subject="user owner", detail={"role": "viewer"})
    browser = browsers["admin"]
    assert [page(browser, "action=study").count(f"{each}</span>") for each in ("study.launch", "study.cancel")] == [
        1,
        1,
    ]
    assert page(browser, "action=study").count('<tr id="entry-') == 2
    assert page(browser, "action=study.cancel").count('<tr id="entry-') == 1
    assert page(browser, "person=boss").count('<tr id="entry-') == 1
    assert page(browser, "q=rivers").count('<tr id="entry-') == 1
    assert "No entry fits this choice." in page(browser, "q=nowhere&person=boss")


def test_an_import_is_in_it_with_its_path(
    browsers: dict[str, Client], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))
    folder = tmp_path / "imports"
    folder.mkdir()
    browsers["owner"].post("/data-sets/mnist/import", {"path": str(folder)})
    entry = AuditEntry.objects.latest("id")
    assert (entry.actor_name, entry.action, entry.subject) == ("owner", "dataset.import", "data set mnist")
    assert entry.detail == {"path": str(folder), "replace": False}
    assert '<a href="/data-sets#dataset-mnist">data set mnist</a>' in page(browsers["admin"])


def test_many_runs_are_told_by_the_first_of_them(browsers: dict[str, Client], admin: User) -> None:
    AuditEntry.objects.create(
        actor_name="boss", action="run.cancel", subject="10 runs", detail={"runs": list(range(1, 11))}
    )
    assert "runs: 1, 2, 3, 4, 5, 6, 7, 8 and 2 more" in page(browsers["admin"])
