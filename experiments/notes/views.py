"""Buttons of notes. An edit of what changed meanwhile shows both texts: nothing is lost, and nothing overwritten."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.core.errors import ConflictError
from experiments.models import Note, Run, Study
from experiments.notes.services import TEXT_LENGTH, note_create, note_delete, note_edit
from experiments.web.requests import current_user, whole_number
from workers.errors import TributaryError

NOTE_ACTIONS = ("edit", "delete")


@require_POST
def study_notes(request: HttpRequest, pk: int) -> HttpResponse:
    return write_note(request, "study", get_object_or_404(Study, pk=pk))


@require_POST
def run_notes(request: HttpRequest, pk: int) -> HttpResponse:
    return write_note(request, "run", get_object_or_404(Run, pk=pk))


def write_note(request: HttpRequest, page: str, subject: Study | Run) -> HttpResponse:
    try:
        note_create(author=current_user(request), text=request.POST.get("text", ""), **{page: subject})  # type: ignore[arg-type]
    except TributaryError as error:
        messages.error(request, error.detail)
    return to_notes(page, subject.pk)


@require_POST
def note_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    if action not in NOTE_ACTIONS:
        raise Http404
    note = get_object_or_404(Note.objects.select_related("author", "editor"), pk=pk)
    person, version = current_user(request), whole_number(request.POST.get("version"), 0)
    text = request.POST.get("text", "")
    try:
        if action == "edit":
            note_edit(note=note, actor=person, text=text, version=version)
        else:
            note_delete(note=note, actor=person, version=version)
    except ConflictError as error:
        return show_conflict(request, pk, text, error.detail)
    except TributaryError as error:
        messages.error(request, error.detail)
    return to_notes("study", note.study_id) if note.study_id else to_notes("run", note.run_id or 0)


def show_conflict(request: HttpRequest, pk: int, text: str, detail: str) -> HttpResponse:
    """Both texts, and the newer one's version to save over, once it was read."""
    note = get_object_or_404(Note.objects.select_related("author", "editor"), pk=pk)
    context = {"note": note, "mine": text, "detail": detail, "longest": TEXT_LENGTH}
    return render(request, "pages/note_conflict.html", context, status=409)


def to_notes(page: str, pk: int) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse(page, args=[pk])}#notes")
