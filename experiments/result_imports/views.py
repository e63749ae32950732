"""The page Import: a table is mapped and looked at in the browser, comes in over REST, and can be taken back.

Browsers cannot read Parquet: such a file is sent here first, and comes back as CSV.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from experiments.access.services.rights import require_launch
from experiments.core.errors import NotAllowedError
from experiments.models import Study
from experiments.result_imports.parquet_text import parquet_to_csv
from experiments.result_imports.selectors import imported_studies
from experiments.result_imports.services import import_undo
from experiments.web.requests import current_user, whole_number
from workers.errors import TributaryError


def imports_page(request: HttpRequest) -> HttpResponse:
    person = current_user(request)
    try:
        require_launch(person)
    except NotAllowedError as error:
        return render(request, "403.html", {"detail": error.detail}, status=403)
    studies = list(imported_studies(person))
    done = whole_number(request.GET.get("done", ""), 0)
    context = {
        "studies": studies,
        "done": next((study for study in studies if study.pk == done), None),
        "came": whole_number(request.GET.get("runs", ""), 0),
    }
    return render(request, "pages/imports.html", context)


@require_POST
def read_parquet(request: HttpRequest) -> HttpResponse:
    """Nothing is kept of the file."""
    try:
        require_launch(current_user(request))
    except NotAllowedError as error:
        return JsonResponse({"detail": error.detail}, status=403)
    file = request.FILES.get("file")
    try:
        if file is None:
            raise TributaryError("Send the Parquet file as `file`.")
        text = parquet_to_csv(file.chunks())
    except TributaryError as error:
        return JsonResponse({"detail": error.detail}, status=422)
    return HttpResponse(text, content_type="text/csv; charset=utf-8")


@require_POST
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(Study, pk=pk)
    try:
        runs = import_undo(study=study, actor=current_user(request))
    except TributaryError as error:
        messages.error(request, error.detail)
    else:
        messages.success(request, f"{study.name} is taken back: {runs} runs are being deleted.")
    return redirect("imports")
