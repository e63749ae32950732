"""Data sets: what is here, and the buttons that bring more."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.client_data.selectors import dataset_overview
from experiments.datasets.selectors import Edition, dataset_edition, dataset_overviews, dataset_rows
from experiments.datasets.services.jobs import job_request
from experiments.datasets.services.uploads import npz_folder, npz_upload
from experiments.models import DatasetJob, JobKind
from experiments.web.requests import current_user, page_or_part
from workers.catalog import load_catalog
from workers.errors import TributaryError

CONFIRMATIONS = {
    JobKind.FETCH: "Fetching starts within seconds. You may leave this page.",
    JobKind.IMPORT: "Importing starts within seconds. You may leave this page.",
    JobKind.VERIFY: "Every file is being read and compared with its checksum.",
}


def datasets(request: HttpRequest) -> HttpResponse:
    rows = dataset_rows()
    context = {
        "rows": rows,
        "ready": sum(row.ready for row in rows),
        "bytes": sum(edition.bytes or 0 for row in rows for edition in row.editions),
        "busy": any(row.busy for row in rows),
        "looks": dataset_overviews(rows),
        "upload_limit": settings.MAX_UPLOAD // 1_000_000,
        "npz_folder": npz_folder(),
    }
    return page_or_part(request, "pages/datasets.html", "parts/dataset_list.html", context)


@require_POST
def dataset_action(request: HttpRequest, name: str, action: str) -> HttpResponse:
    if action not in JobKind.values:
        raise Http404
    kind = JobKind(action)
    path = request.POST.get("path", "")
    return submit_job(
        request, name, kind, lambda: job_request(actor=current_user(request), dataset=name, kind=kind, path=path)
    )


@require_POST
def dataset_upload(request: HttpRequest) -> HttpResponse:
    """The file is only stored here; its job's process reads it."""
    upload_file = request.FILES.get("file")

    def upload() -> DatasetJob:
        if upload_file is None:
            raise TributaryError("Choose a file that ends in .npz.")
        return npz_upload(
            actor=current_user(request),
            name=upload_file.name or "",
            size=upload_file.size or 0,
            content=upload_file.chunks(),
            limit=settings.MAX_UPLOAD,
        )

    return submit_job(request, "npz", JobKind.IMPORT, upload)


def submit_job(request: HttpRequest, name: str, kind: JobKind, submit: Callable[[], DatasetJob]) -> HttpResponse:
    try:
        submit()
    except TributaryError as error:
        messages.error(request, f"{name}: {error.detail}")
    else:
        messages.success(request, f"{name}: {CONFIRMATIONS[kind]}")
    return redirect(f"{reverse('datasets')}#dataset-{name}")


def dataset_overview_part(request: HttpRequest, name: str) -> HttpResponse:
    """Pictures and histogram of a set that takes a moment; asked for by the page after it is drawn."""
    edition = find_edition(name, request)
    try:
        overview = dataset_overview(edition.dataset, edition.params, wait=True)
    except TributaryError:
        overview = None
    return render(request, "parts/dataset_look.html", {"edition": edition, "look": overview, "waited": True})


def find_edition(name: str, request: HttpRequest) -> Edition:
    dataset = load_catalog().datasets.get(name)
    if dataset is None:
        raise Http404
    editions = [dataset_edition(dataset, params) for params in dataset.editions()]
    for edition in editions:
        if edition.title == request.GET.get("title", name):
            return edition
    raise Http404
