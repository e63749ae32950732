"""GET and POST /apps, DELETE /apps/{name}: the lab's own Flower apps."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import File, Router, Status
from ninja.files import UploadedFile
from pydantic import Field

from experiments.api.schemas import Page, error_responses
from experiments.flower_apps.schemas import AppAnswer, app_answer
from experiments.flower_apps.selectors import app_rows, find_row, row_or_404
from experiments.flower_apps.services import app_check_once, app_remove, app_upload
from experiments.web.requests import current_user

router = Router(tags=["apps"])
AppName = Annotated[str, Field(max_length=100)]


@router.get("/apps", response={200: Page[AppAnswer], **error_responses()}, summary="Flower apps, by name")
def apps(request: HttpRequest) -> Any:
    """With all that a study of them can set or vary. There are few: all are on one page."""
    items = [app_answer(row) for row in app_rows()]
    return {"count": len(items), "next": None, "items": items}


@router.post(
    "/apps", response={201: AppAnswer, **error_responses(403, 409)}, summary="Add a Flower app, or a version of it"
)
def add(request: HttpRequest, file: File[UploadedFile]) -> Any:
    """A .zip or .fab of the folder that has its pyproject.toml. For admins; runs keep the version they began with."""
    package = app_upload(actor=current_user(request), name=file.name or "", size=file.size or 0, content=file.file)
    app_check_once(package=package)
    return Status(201, app_answer(find_row(package.name)))


@router.delete("/apps/{app}", response={204: None, **error_responses(403, 404, 409)}, summary="Remove a Flower app")
def remove(request: HttpRequest, app: AppName) -> Any:
    """For new studies, that is: runs that have it keep their version. For admins."""
    app_remove(actor=current_user(request), name=row_or_404(app).app.name)
    return Status(204, None)
