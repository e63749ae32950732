"""What an owner changes of a study: its name, words and tags; and what deleting it would mean."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from experiments.models import Study
from experiments.selectors.deletions import deletion_of
from experiments.services.errors import NotAllowedError
from experiments.services.rights import require_manage
from experiments.services.study_changes import study_update
from experiments.views.parts import page_or_part
from experiments.views.people import person
from workers.errors import SpecError, TributaryError


@require_POST
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Study, pk=pk)
    given = request.POST
    try:
        study_update(
            study=found,
            actor=person(request),
            name=given.get("name"),
            description=given.get("description"),
            tags=given["tags"].split(",") if "tags" in given else None,
        )
    except TributaryError as error:
        messages.error(request, f"Nothing was changed. {in_words(error)}")
    else:
        messages.success(request, "Changed.")
    return redirect("study", pk=pk)


def in_words(error: TributaryError) -> str:
    if isinstance(error, SpecError):
        return " ".join(f"{problem.path.capitalize()}: {problem.message}" for problem in error.errors)
    return error.detail


def deletion(request: HttpRequest, pk: int) -> HttpResponse:
    """The confirmation: a page of its own, or its part for a dialog."""
    found = get_object_or_404(Study.objects.select_related("owner"), pk=pk)
    try:
        require_manage(person(request), found)
    except NotAllowedError as error:
        return render(request, "403.html", {"detail": error.detail}, status=403)
    context = {"study": found, "deletion": deletion_of(found)}
    return page_or_part(request, "pages/deletion.html", "parts/deletion.html", context)
