from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field

from experiments.api.auth import person
from experiments.api.paging import Paging, page_of
from experiments.api.present import study_answers
from experiments.api.schemas import Counted, ErrorAnswer, Id, Page, PlanAnswer, StudyAnswer, StudyDetail
from experiments.models import Study
from experiments.selectors.studies import matching
from experiments.services import study_changes
from experiments.services.definition import StudyDefinition, definition_launch
from experiments.services.studies import study_plan

router = Router(tags=["studies"])
REFUSALS = {401: ErrorAnswer, 403: ErrorAnswer, 404: ErrorAnswer}


class StudyChange(Schema):
    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(None, max_length=200)
    description: str | None = Field(None, max_length=20_000)
    tags: list[str] | None = None
    priority: int | None = Field(None, ge=-100, le=100)


def detail(study: Study) -> dict[str, Any]:
    return study_answers([study])[0]


def found(study: int) -> Study:
    return get_object_or_404(Study.objects.select_related("owner"), pk=study)


@router.post(
    "",
    response={201: StudyDetail, 200: PlanAnswer, 401: ErrorAnswer, 403: ErrorAnswer, 422: ErrorAnswer},
    summary="Launch a study",
)
def launch(request: HttpRequest, definition: StudyDefinition, dry_run: bool = False) -> Any:
    """All of it or nothing. With `dry_run` nothing is stored: the answer says what would be."""
    if dry_run:
        return Status(200, study_plan(owner=person(request), blocks=definition.blocks, reuse=definition.reuse))
    return Status(201, detail(definition_launch(owner=person(request), definition=definition)))


@router.get("", response={200: Page[StudyAnswer], 401: ErrorAnswer}, summary="Studies, the newest first")
def studies(request: HttpRequest, paging: Query[Paging], search: str = "") -> Any:
    count, following, page = page_of(matching(search).select_related("owner"), paging, newest_first=True)
    return {"count": count, "next": following, "items": study_answers(page)}


@router.get("/{study}", response={200: StudyDetail, 401: ErrorAnswer, 404: ErrorAnswer}, summary="One study")
def study(request: HttpRequest, study: Id) -> Any:
    return detail(found(study))


@router.patch("/{study}", response={200: StudyDetail, **REFUSALS, 422: ErrorAnswer}, summary="Rename, tag, prioritise")
def change(request: HttpRequest, study: Id, change: StudyChange) -> Any:
    given = change.model_dump(exclude_unset=True)
    return detail(study_changes.study_update(study=found(study), actor=person(request), **given))


@router.delete("/{study}", response={204: None, **REFUSALS}, summary="Delete a study and the runs only it holds")
def delete(request: HttpRequest, study: Id) -> HttpResponse:
    study_changes.study_delete(study=found(study), actor=person(request))
    return HttpResponse(status=204)


@router.post("/{study}/cancel", response={200: StudyDetail, **REFUSALS}, summary="Cancel runs only this study holds")
def cancel(request: HttpRequest, study: Id) -> Any:
    return detail(study_changes.study_cancel(study=found(study), actor=person(request)))


@router.post("/{study}/pause", response={200: StudyDetail, **REFUSALS}, summary="Hold queued runs back")
def pause(request: HttpRequest, study: Id) -> Any:
    return detail(study_changes.study_pause(study=found(study), actor=person(request)))


@router.post("/{study}/resume", response={200: StudyDetail, **REFUSALS}, summary="Let queued runs go on")
def resume(request: HttpRequest, study: Id) -> Any:
    return detail(study_changes.study_resume(study=found(study), actor=person(request)))


@router.post("/{study}/retry", response={200: Counted, **REFUSALS}, summary="Queue failed and cancelled runs again")
def retry(request: HttpRequest, study: Id) -> Any:
    return {"runs": study_changes.study_retry(study=found(study), actor=person(request))}
