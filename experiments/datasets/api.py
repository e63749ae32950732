"""GET /datasets: what is here, and what to do about the others. POST /datasets/own/import: a lab's own data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Status

from experiments.api.schemas import Id, error_responses
from experiments.datasets.schemas import DatasetAnswer, DatasetJobAnswer, ImportBody
from experiments.datasets.selectors import Edition, dataset_rows
from experiments.datasets.services.jobs import job_request
from experiments.housekeeping.models import DATASET_KINDS
from experiments.models import Job, JobKind
from experiments.web.requests import current_user
from workers.data_import.options import ImportOptions

router = Router(tags=["data"])
DryRun = Annotated[
    bool, Query(False, description="Stores nothing: the job's `preview` says what would be.", examples=[True])
]


@router.get("/datasets", response={200: list[DatasetAnswer], **error_responses()}, summary="Data sets")
def datasets(request: HttpRequest) -> Any:
    """What is here first, with what to do about the others."""
    return [dataset_answer(edition) for row in dataset_rows(jobs=False) for edition in row.editions]


def dataset_answer(edition: Edition) -> dict[str, Any]:
    facts = asdict(edition.facts)
    return {
        **facts,
        "name": edition.dataset.name,
        "label": edition.dataset.label,
        "parameters": edition.params.model_dump(mode="json", exclude_defaults=True) | {"name": edition.dataset.name},
        "ready": edition.missing is None,
        "what_to_do": edition.missing,
        "bytes": edition.bytes,
        "checksum": edition.checksum,
        "licence": edition.dataset.licence,
        "paper": edition.dataset.paper,
    }


@router.post(
    "/datasets/own/import",
    response={202: DatasetJobAnswer, **error_responses(403, 409)},
    summary="Import a table, a folder of pictures or a Hugging Face folder",
)
def import_own(request: HttpRequest, response: HttpResponse, body: ImportBody, dry_run: DryRun) -> Any:
    """From a path on the server, below a folder that may be imported from. The answer is a job: ask for it again."""
    options = ImportOptions(**body.model_dump(exclude={"path", "replace"}))
    job = job_request(
        actor=current_user(request),
        dataset="own",
        kind=JobKind.IMPORT,
        path=body.path,
        replace=body.replace,
        options=options,
        dry_run=dry_run,
    )
    response["Retry-After"] = "1"
    return Status(202, job_answer(job))


@router.get(
    "/datasets/jobs/{job}",
    response={200: DatasetJobAnswer, **error_responses(404)},
    summary="How far a fetch, an import or a preview is",
)
def dataset_job(request: HttpRequest, job: Id) -> Any:
    """Once it is done a dry run has its `preview`; one that failed says why in `text`."""
    return job_answer(get_object_or_404(Job, pk=job, kind__in=DATASET_KINDS))


def job_answer(job: Job) -> dict[str, Any]:
    return {
        "id": job.pk,
        "dataset": job.subject,
        "kind": job.kind,
        "path": job.path,
        "state": job.state,
        "share": job.share,
        "text": job.text,
        "options": job.request.get("options", {}),
        "dry_run": bool(job.request.get("dry_run")),
        "preview": job.request.get("preview"),
    }
