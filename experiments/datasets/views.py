"""Data sets: what is here, and the buttons that bring more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.client_data.services import overview_or_request
from experiments.core.errors import NotAllowedError, PendingError
from experiments.datasets.forms import import_form, typed_options
from experiments.datasets.selectors import Edition, dataset_edition, dataset_overviews, dataset_rows
from experiments.datasets.services.jobs import home_import_folder, job_request, npz_folder
from experiments.datasets.services.uploads import npz_upload
from experiments.housekeeping.models import DATASET_KINDS
from experiments.models import Job, JobKind
from experiments.web.requests import current_user, page_or_part
from workers.catalog import load_catalog
from workers.data_import.options import parse_options
from workers.errors import TributaryError

CONFIRMATIONS = {
    JobKind.FETCH: "Fetching starts within seconds. You may leave this page.",
    JobKind.IMPORT: "Importing starts within seconds. You may leave this page.",
    JobKind.VERIFY: "Every file is being read and compared with its checksum.",
}


def datasets(request: HttpRequest) -> HttpResponse:
    return render_datasets(request, opened=request.GET.get("open", ""))


def render_datasets(
    request: HttpRequest, *, status: int = 200, posted: Mapping[str, str] | None = None, **more: Any
) -> HttpResponse:
    """`opened` is the one whose details are in view, `problem` what is wrong with the request that was made of it."""
    rows = dataset_rows()
    context = {
        "rows": rows,
        "ready": sum(row.ready for row in rows),
        "bytes": sum(edition.bytes or 0 for row in rows for edition in row.editions),
        "busy": any(row.busy for row in rows),
        "looks": dataset_overviews(rows),
        "upload_limit": settings.MAX_UPLOAD // 1_000_000,
        "npz_folder": npz_folder(),
        "import_folder": home_import_folder(),
        "own_form": import_form((job for row in rows if row.dataset.name == "own" for job in row.jobs), posted),
        **more,
    }
    response = page_or_part(request, "pages/datasets.html", "parts/dataset_list.html", context)
    response.status_code = status
    return response


@require_POST
def dataset_action(request: HttpRequest, name: str, action: str) -> HttpResponse:
    if action not in DATASET_KINDS:
        raise Http404
    kind = JobKind(action)
    path, replace = request.POST.get("path", ""), request.POST.get("replace") == "1"
    takes_options = name == "own" and kind == JobKind.IMPORT

    def submit() -> Job:
        return job_request(
            actor=current_user(request),
            dataset=name,
            kind=kind,
            path=path,
            replace=replace,
            options=parse_options(typed_options(request.POST)) if takes_options else None,
            dry_run=takes_options and request.POST.get("dry_run") == "1",
        )

    return submit_job(request, name, kind, submit)


@require_POST
def dataset_upload(request: HttpRequest) -> HttpResponse:
    """The file is only stored here; its job's process reads it."""
    upload_file = request.FILES.get("file")

    def upload() -> Job:
        if upload_file is None:
            raise TributaryError("Choose a file that ends in .npz.")
        return npz_upload(
            actor=current_user(request),
            name=upload_file.name or "",
            size=upload_file.size or 0,
            content=upload_file.chunks(),
            limit=settings.MAX_UPLOAD,
            replace=request.POST.get("replace") == "1",
        )

    return submit_job(request, "npz", JobKind.IMPORT, upload)


def submit_job(request: HttpRequest, name: str, kind: JobKind, submit: Callable[[], Job]) -> HttpResponse:
    """What cannot be done is told in the data set's own details, with what was typed."""
    try:
        submit()
    except NotAllowedError as error:
        messages.error(request, f"{name}: {error.detail}")
    except TributaryError as error:
        typed = request.POST.get("path", "")
        return render_datasets(request, status=422, opened=name, problem=error.detail, typed=typed, posted=request.POST)
    else:
        messages.success(request, f"{name}: {CONFIRMATIONS[kind]}")
    return redirect(f"{reverse('datasets')}?open={name}#dataset-{name}")


def dataset_overview_part(request: HttpRequest, name: str) -> HttpResponse:
    """Pictures and histogram of a set that takes a moment; asked for by the page after it is drawn."""
    edition = find_edition(name, request)
    pending, overview = False, None
    try:
        overview = overview_or_request(edition.dataset, edition.params)
    except PendingError:
        pending = True
    except TributaryError:
        pass
    context = {"edition": edition, "look": overview, "waited": True, "pending": pending}
    return render(request, "parts/dataset_look.html", context)


def find_edition(name: str, request: HttpRequest) -> Edition:
    dataset = load_catalog().datasets.get(name)
    if dataset is None:
        raise Http404
    editions = [dataset_edition(dataset, params) for params in dataset.editions()]
    for edition in editions:
        if edition.title == request.GET.get("title", name):
            return edition
    raise Http404
