"""GET /studies/{id}/archive: a study as one file."""

from __future__ import annotations

from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router

from experiments.api.auth import request_credential
from experiments.api.schemas import Id, error_responses
from experiments.export.api import BINARY, is_still_allowed
from experiments.export.slots import export_slots
from experiments.models import Study
from experiments.study_archives.selectors import study_archive_parts
from experiments.web.requests import current_user

router = Router(tags=["export"])


@router.get(
    "/studies/{study}/archive",
    response={200: None, **error_responses(404)},
    operation_id="study_archive_file",
    url_name="study-archive",
    summary="A study as one file",
    openapi_extra={
        "responses": {200: {"description": "The zip, as it is made", "content": {"application/octet-stream": BINARY}}}
    },
)
def study_archive(request: HttpRequest, study: Id) -> StreamingHttpResponse:
    """Specs, numbers of every round and client, models, logs, notes and provenance of the runs that have ended, with
    the SHA-256 of each file. `manage.py unarchive` brings it into another lab.
    """
    from experiments.export.writing import PartStream

    stored_study = get_object_or_404(Study, pk=study)
    person, credential = current_user(request).pk, request_credential(request)
    export_slots().take(person)
    stream = PartStream(
        study_archive_parts(stored_study),
        lambda: is_still_allowed(credential),
        lambda: export_slots().give_back(person),
    )
    response = StreamingHttpResponse(stream, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="study-{study}.tributary.zip"'
    response["Cache-Control"] = "private, no-store"
    return response
