"""The notes of a page: each with who wrote it and when, and the form for one more."""

from __future__ import annotations

from typing import Any

from django import template
from django.core.paginator import Paginator
from django.template.context import RequestContext
from django.utils.safestring import SafeString

from experiments.models import Run, Study
from experiments.notes.selectors import notes_on
from experiments.notes.services import TEXT_LENGTH, may_edit
from experiments.web.markdown import render_note

register = template.Library()
NOTES_PAGE = 30


@register.filter
def as_note(text: str) -> SafeString:
    return render_note(text)


@register.inclusion_tag("parts/notes.html", takes_context=True)
def notes_panel(context: RequestContext, subject: Study | Run) -> dict[str, Any]:
    """The newest page of them, unless the address names another one."""
    is_study = isinstance(subject, Study)
    pages = Paginator(notes_on(study=subject.pk) if is_study else notes_on(run=subject.pk), NOTES_PAGE)
    page = pages.get_page(context["request"].GET.get("notes", pages.num_pages))
    user = context["user"]
    return {
        "request": context["request"],
        "csrf_token": context.get("csrf_token"),
        "user": user,
        "subject": subject,
        "write_to": "study-notes" if is_study else "run-notes",
        "page": page,
        "notes": [(note, may_edit(user, note)) for note in page],
        "longest": TEXT_LENGTH,
    }
