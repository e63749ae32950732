"""Writing notes: members write and edit their own, admins all; an edit of what changed meanwhile is refused."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from experiments.access.services.audit import audit_record
from experiments.core.errors import ConflictError, NotAllowedError
from experiments.core.json_values import plain_text
from experiments.models import Note, Run, Study, User
from workers.errors import Problem, SpecError

TEXT_LENGTH = 20_000
CHANGED_MEANWHILE = "This note was changed meanwhile. Read it as it is now, then save again."


def note_create(*, author: User, text: str, study: Study | None = None, run: Run | None = None) -> Note:
    """On a study or on a run, whosever they are: everyone reads everything here."""
    if not author.may_launch:
        raise NotAllowedError("A viewer reads. Ask an admin for the role member to write notes.")
    words = clean_text(text)
    with transaction.atomic():
        note = Note.objects.create(author=author, text=words, study=study, run=run)
        audit_record(actor=author, action="note.create", subject=note.subject, note=note.pk)
    return note


def note_edit(*, note: Note, actor: User, text: str, version: int) -> Note:
    """`version` is that of the text which was edited: a `ConflictError` says that there is a newer one."""
    require_author(actor, note)
    words = clean_text(text)
    with transaction.atomic():
        same = Note.objects.filter(pk=note.pk, version=version)
        if not same.update(text=words, version=F("version") + 1, edited=Now(), editor=actor):
            raise ConflictError(CHANGED_MEANWHILE)
        audit_record(actor=actor, action="note.edit", subject=note.subject, note=note.pk)
    note.refresh_from_db()
    return note


def note_delete(*, note: Note, actor: User, version: int | None = None) -> None:
    """With a `version`, only if that is what it still says."""
    require_author(actor, note)
    with transaction.atomic():
        same = Note.objects.filter(pk=note.pk, **({} if version is None else {"version": version}))
        if not same.delete()[0]:
            raise ConflictError(CHANGED_MEANWHILE)
        audit_record(actor=actor, action="note.delete", subject=note.subject, note=note.pk)


def may_edit(actor: User, note: Note) -> bool:
    return actor.is_lab_admin or (actor.may_launch and note.author_id == actor.pk)


def require_author(actor: User, note: Note) -> None:
    if not may_edit(actor, note):
        raise NotAllowedError("Only the person who wrote a note or an admin may change it.")


def clean_text(text: str) -> str:
    words = plain_text(text).strip()
    if not words:
        raise SpecError([Problem("text", "A note needs some words.")], "The note is empty.")
    if len(words) > TEXT_LENGTH:
        raise SpecError([Problem("text", f"At most {TEXT_LENGTH:,} characters.")], "The note is too long.")
    return words
