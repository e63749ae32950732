"""Notes on studies and runs."""

from __future__ import annotations

from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Status

from experiments.api.paging import Paging, find_sorting, integer_key, read_page
from experiments.api.schemas import Id, Page, error_responses
from experiments.models import Note, Run, Study
from experiments.notes.schemas import NoteAnswer, NoteEdit, NoteText, note_answer
from experiments.notes.selectors import notes_on
from experiments.notes.services import note_create, note_delete, note_edit
from experiments.web.requests import current_user

router = Router(tags=["notes"])
OLDEST = find_sorting("id", {"id": integer_key("id")})
Version = Annotated[
    int | None,
    Query(None, ge=1, lt=2**31, description="Only if this is still its version; otherwise 409.", examples=[2]),
]


@router.get(
    "/studies/{study}/notes",
    response={200: Page[NoteAnswer], **error_responses(404)},
    summary="Notes on a study",
    operation_id="notes_of_study",
)
def study_notes(request: HttpRequest, study: Id, paging: Query[Paging]) -> Any:
    """The oldest first."""
    return note_list(notes_on(study=get_object_or_404(Study, pk=study).pk), paging)


@router.post(
    "/studies/{study}/notes",
    response={201: NoteAnswer, **error_responses(403, 404)},
    summary="Write a note on a study",
    operation_id="notes_write_on_study",
)
def write_on_study(request: HttpRequest, study: Id, body: NoteText) -> Any:
    """On any study: members write, viewers read."""
    subject = get_object_or_404(Study, pk=study)
    return Status(201, note_answer(note_create(author=current_user(request), text=body.text, study=subject)))


@router.get(
    "/runs/{run}/notes",
    response={200: Page[NoteAnswer], **error_responses(404)},
    summary="Notes on a run",
    operation_id="notes_of_run",
)
def run_notes(request: HttpRequest, run: Id, paging: Query[Paging]) -> Any:
    """The oldest first."""
    return note_list(notes_on(run=get_object_or_404(Run, pk=run).pk), paging)


@router.post(
    "/runs/{run}/notes",
    response={201: NoteAnswer, **error_responses(403, 404)},
    summary="Write a note on a run",
    operation_id="notes_write_on_run",
)
def write_on_run(request: HttpRequest, run: Id, body: NoteText) -> Any:
    """On any run: members write, viewers read."""
    subject = get_object_or_404(Run, pk=run)
    return Status(201, note_answer(note_create(author=current_user(request), text=body.text, run=subject)))


@router.patch(
    "/notes/{note}", response={200: NoteAnswer, **error_responses(403, 404, 409)}, summary="Change a note of yours"
)
def edit(request: HttpRequest, note: Id, body: NoteEdit) -> Any:
    """An admin may change any. Where somebody saved meanwhile nothing is changed: read it again, send its version."""
    one = get_object_or_404(Note, pk=note)
    return note_answer(note_edit(note=one, actor=current_user(request), text=body.text, version=body.version))


@router.delete(
    "/notes/{note}", response={204: None, **error_responses(403, 404, 409)}, summary="Delete a note of yours"
)
def delete(request: HttpRequest, note: Id, version: Version) -> Any:
    """An admin may delete any."""
    note_delete(note=get_object_or_404(Note, pk=note), actor=current_user(request), version=version)
    return Status(204, None)


def note_list(notes: QuerySet[Note], paging: Paging) -> dict[str, Any]:
    count, following, page = read_page(notes, paging, OLDEST)
    return {"count": count, "next": following, "items": [note_answer(each) for each in page]}
