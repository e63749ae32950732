"""Notes on studies and runs: who may write, that no edit is lost, that they leave with exports and go with studies."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from django.test import Client

from experiments.core.errors import ConflictError, NotAllowedError
from experiments.export.exporter import ExportRequest, build_table
from experiments.export.writing import FORMATS
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import AuditEntry, Note, Study, User
from experiments.notes.services import note_create, note_delete, note_edit
from experiments.studies.selectors.deletions import deletion_of
from experiments.studies.services.deletion import study_delete
from tests.experiments import lab
from workers.errors import SpecError


@pytest.fixture
def note(study: Study) -> Note:
    return note_create(author=study.owner, text="The rate was **too high**.", study=study)


def test_any_member_writes_on_any_study_and_run(study: Study, stranger: User) -> None:
    on_run = note_create(author=stranger, text="Odd curve", run=lab.runs_in_order(study)[0])
    assert (on_run.subject, on_run.version, on_run.edited) == (f"run {lab.runs_in_order(study)[0].pk}", 1, None)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.actor_name, entry.action, entry.subject) == ("stranger", "note.create", on_run.subject)


def test_a_viewer_reads_only(study: Study, viewer: User) -> None:
    with pytest.raises(NotAllowedError, match="Ask an admin for the role member"):
        note_create(author=viewer, text="Hello", study=study)


@pytest.mark.parametrize("text", ["", "  \n", "x" * 20_001])
def test_a_note_needs_words_and_has_an_end(study: Study, text: str) -> None:
    with pytest.raises(SpecError):
        note_create(author=study.owner, text=text, study=study)
    assert Note.objects.count() == 0


def test_its_author_and_admins_edit_it_and_others_do_not(note: Note, stranger: User, admin: User) -> None:
    with pytest.raises(NotAllowedError):
        note_edit(note=note, actor=stranger, text="No", version=1)
    with pytest.raises(NotAllowedError):
        note_delete(note=note, actor=stranger)
    edited = note_edit(note=note, actor=admin, text="Yes", version=1)
    assert (edited.text, edited.version, edited.editor, edited.author) == ("Yes", 2, admin, note.author)


def test_an_edit_of_what_changed_meanwhile_is_refused_and_nothing_is_lost(note: Note, admin: User) -> None:
    note_edit(note=note, actor=admin, text="The admin's", version=1)
    with pytest.raises(ConflictError, match="changed meanwhile"):
        note_edit(note=note, actor=note.author, text="Mine", version=1)
    with pytest.raises(ConflictError):
        note_delete(note=note, actor=note.author, version=1)
    note.refresh_from_db()
    assert (note.text, note.version) == ("The admin's", 2)


def test_the_page_shows_both_texts_of_a_conflict_and_saves_once_it_was_read(
    as_owner: Client, note: Note, admin: User
) -> None:
    note_edit(note=note, actor=admin, text="The admin's", version=1)
    answer = as_owner.post(f"/notes/{note.pk}/edit", {"text": "Mine", "version": "1"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "The admin&#x27;s" in page or "The admin's" in page
    assert ">Mine</textarea>" in page
    assert '<input type="hidden" name="version" value="2">' in page
    as_owner.post(f"/notes/{note.pk}/edit", {"text": "Mine", "version": "2"})
    note.refresh_from_db()
    assert (note.text, note.version) == ("Mine", 3)


def test_markdown_is_shown_and_can_do_no_harm(as_owner: Client, study: Study) -> None:
    note_create(author=study.owner, text="**bold** <script>alert(1)</script> [x](javascript:alert(1))", study=study)
    page = as_owner.get(f"/studies/{study.pk}").content.decode()
    assert "<strong>bold</strong> &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert 'href="javascript' not in page


def test_it_is_written_edited_and_deleted_on_the_page_of_a_run(as_owner: Client, study: Study) -> None:
    run = lab.runs_in_order(study)[0].pk
    answer = as_owner.post(f"/runs/{run}/notes", {"text": "Look at *this*"})
    assert answer.headers["Location"] == f"/runs/{run}#notes"
    assert "Look at <em>this</em>" in as_owner.get(f"/runs/{run}").content.decode()
    (note,) = Note.objects.all()
    as_owner.post(f"/notes/{note.pk}/delete", {"version": "1"})
    assert Note.objects.count() == 0


def test_only_those_who_may_see_buttons(browsers: dict[str, Client], note: Note) -> None:
    pages = {
        who: browsers[who].get(f"/studies/{note.study_id}").content.decode() for who in ("viewer", "stranger", "owner")
    }
    assert {who: ("Add note" in page, f"/notes/{note.pk}/edit" in page) for who, page in pages.items()} == {
        "viewer": (False, False),
        "stranger": (True, False),
        "owner": (True, True),
    }


def test_rest_tells_of_a_conflict(as_owner: Client, study: Study) -> None:
    sent = {"content_type": "application/json"}
    written = as_owner.post(f"/api/v1/studies/{study.pk}/notes", {"text": "First"}, **sent).json()
    assert (written["author"], written["version"], written["study"]) == ("owner", 1, study.pk)
    address = f"/api/v1/notes/{written['id']}"
    assert as_owner.patch(address, {"text": "Second", "version": 1}, **sent).json()["version"] == 2
    refused = as_owner.patch(address, {"text": "Third", "version": 1}, **sent)
    assert (refused.status_code, refused.json()["detail"][:31]) == (409, "This note was changed meanwhile")
    listed = as_owner.get(f"/api/v1/studies/{study.pk}/notes").json()
    assert [(each["text"], each["version"]) for each in listed["items"]] == [("Second", 2)]
    assert as_owner.delete(f"{address}?version=1").status_code == 409
    assert as_owner.delete(f"{address}?version=2").status_code == 204


def test_an_export_has_the_notes_of_a_study_and_of_its_runs(study: Study, note: Note, stranger: User) -> None:
    other = lab.launched(stranger, "Another", rounds=9)
    note_create(author=stranger, text="=cmd()", run=lab.runs_in_order(study)[0])
    note_create(author=stranger, text="Elsewhere", study=other)
    table = build_table(ExportRequest("notes", filters={"study": [str(study.pk)]}))
    text = b"".join(FORMATS["csv"].encode(table)).decode()
    assert [(row["study"], row["author"], row["text"]) for row in csv.DictReader(StringIO(text))] == [
        (str(study.pk), "owner", "The rate was **too high**."),
        ("", "stranger", "'=cmd()"),
    ]
    everything = build_table(ExportRequest("notes"))
    assert sum(batch.num_rows for batch in everything.batches) == 3


def test_notes_go_with_their_study_and_the_person_is_told(as_owner: Client, study: Study, note: Note) -> None:
    note_create(author=study.owner, text="On a run", run=lab.runs_in_order(study)[0])
    assert deletion_of(study).notes == 2
    assert "2 notes on it and its runs" in as_owner.get(f"/studies/{study.pk}/deletion").content.decode()
    study_delete(study=study, actor=study.owner)
    jobs_carry_out()
    assert Note.objects.count() == 0


def test_a_page_shows_the_newest_thirty_notes_and_leads_to_the_others(as_owner: Client, study: Study) -> None:
    for number in range(65):
        note_create(author=study.owner, text=f"note number {number}.", study=study)
    newest = as_owner.get(f"/studies/{study.pk}").content.decode()
    assert [number for number in range(65) if f"note number {number}." in newest] == [60, 61, 62, 63, 64]
    assert '<span class="muted">65</span>' in newest
    before = as_owner.get(f"/studies/{study.pk}?notes=2").content.decode()
    assert [number for number in range(65) if f"note number {number}." in before] == list(range(30, 60))
    assert 'href="?notes=2#notes"' in newest
    assert 'href="?notes=3#notes"' in before
    assert as_owner.get(f"/studies/{study.pk}?notes=%00").status_code == 200
