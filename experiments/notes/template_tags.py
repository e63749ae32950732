"""The notes of a page: each with who wrote it and when, and the form for one more."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import RequestContext
from django.utils.safestring import SafeString

from experiments.models import Run, Study
from experiments.notes.selectors import notes_on
from experiments.notes.services import TEXT_LENGTH, may_edit
from experiments.web.markdown import render_note

register = template.Library()


@register.filter
def as_note(text: str) -> SafeString:
    return render_note(text)


@register.inclusion_tag("parts/notes.html", takes_context=True)
def notes_panel(context: RequestContext, subject: Study | Run) -> dict[str, Any]:
    is_study = isinstance(subject, Study)
    notes = list(notes_on(study=subject.pk) if is_study else notes_on(run=subject.pk))
    user = context["user"]
    return {
        "request": context["request"],
        "csrf_token": context.get("csrf_token"),
        "user": user,
        "subject": subject,
        "write_to": "study-notes" if is_study else "run-notes",
        "notes": [(note, may_edit(user, note)) for note in notes],
        "longest": TEXT_LENGTH,
    }
