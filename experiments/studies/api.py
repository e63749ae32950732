"""Studies over REST: launch, list, change, and GET /studies/{id}/summary."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Header, Query, Router, Schema, Status
from pydantic import Field

from experiments.access.services.rights import require_launch
from experiments.api.auth import may_write
from experiments.api.paging import Paging, find_sorting, integer_key, read_page, text_key, time_key
from experiments.api.schemas import Id, Page, error_responses
from experiments.core.json_values import json_safe, plain_text
from experiments.core.shared_computation import compute_once
from experiments.models import Study
from experiments.results.selectors.run_filters import is_spec_path
from experiments.results.selectors.summaries import study_summary
from experiments.studies.editor.source import MAX_TEXT
from experiments.studies.schemas import (
    Counted,
    PlanAnswer,
    StudyAnswer,
    StudyChange,
    StudyDetail,
    SummaryAnswer,
    study_answers,
)
from experiments.studies.selectors.studies import search_studies
from experiments.studies.services import changes
from experiments.studies.services.changes import study_archive, study_restore
from experiments.studies.services.definition import StudyDefinition, definition_launch, definition_plan, launch_once
from experiments.studies.services.deletion import study_delete
from experiments.web.requests import current_user
from workers.errors import Problem, SpecError
from workers.spec.yaml import load_yaml

router = Router(tags=["studies"])
SORTS = {
    "id": integer_key("id"),
    "created": time_key("created"),
    "name": text_key("name"),
    "priority": integer_key("priority"),
}
IdempotencyKey = Annotated[
    str,
    Header(
        "",
        alias="Idempotency-Key",
        max_length=200,
        pattern=r"^[\x21-\x7e]*$",
        description="A word of your own for this launch: sent again with the same word, it answers with the same study "
        "instead of launching a second one.",
        examples=["9f0c1a52-grid-7"],
    ),
]
DryRun = Annotated[
    bool, Query(False, description="Stores nothing: the answer says what would be launched.", examples=[True])
]

Expected = Annotated[
    int | None,
    Query(None, ge=0, lt=2**31, description="Runs that may go: where others would, nothing is deleted.", examples=[12]),
]
Reason = Annotated[
    str, Query("", max_length=2000, description="Only runs that failed with this first line.", examples=["MemoryError"])
]


class StudyFilter(Paging):
    search: str = Field(
        "",
        max_length=500,
        description="Words in name, description, tags, owner or blocks.",
        examples=["fedprox"],
    )
    tag: list[str] = Field([], description="Studies with one of these tags.", examples=[["skew"]])
    owner: str = Field("", max_length=150, description="Studies of this person.", examples=["mira"])
    origin: str = Field("", max_length=64, description="own, tour, or a preset's name.", examples=["own"])
    archived: bool | None = Field(None, description="True: only archived ones; false: only others.", examples=[False])
    sort: Literal["id", "-id", "created", "-created", "name", "-name", "priority", "-priority"] = Field(
        "-id", description="By what; a minus turns it round.", examples=["-created"]
    )


def study_detail(study: Study) -> dict[str, Any]:
    return study_answers([study])[0]


def study_or_404(study: int) -> Study:
    return get_object_or_404(Study.objects.select_related("owner"), pk=study)


class StudyText(Schema):
    text: str = Field(max_length=MAX_TEXT, description="A study or a block as YAML.", examples=["rounds: 5"])


@router.post("/read", response={200: dict[str, Any], **error_responses(403)}, summary="Read YAML")
def read(request: HttpRequest, body: StudyText) -> Any:
    """The text as JSON, by the rules of the lab's own files (`1e-3` is a number, `on` a word); nothing is stored."""
    require_launch(current_user(request))
    value = load_yaml(body.text)
    if not isinstance(value, dict):
        raise SpecError([Problem("text", "A study is a mapping with name and blocks.")])
    return json_safe(value)


@router.post("", response={201: StudyDetail, 200: PlanAnswer, **error_responses(403, 409)}, summary="Launch a study")
def launch(
    request: HttpRequest,
    response: HttpResponse,
    definition: StudyDefinition,
    key: IdempotencyKey,
    dry_run: DryRun,
) -> Any:
    """All of it or nothing. With `dry_run=true` nothing is stored, and a token that reads is enough: the answer (200)
    says what would be.
    """
    owner = current_user(request)
    if dry_run:
        return Status(200, definition_plan(owner=owner, definition=definition, calibrate=may_write(request)))
    if not key:
        return Status(201, study_detail(definition_launch(owner=owner, definition=definition)))
    study, new = launch_once(owner=owner, key=key, definition=definition)
    if not new:
        response["Idempotency-Replayed"] = "true"
    return Status(201, study_detail(study))


@router.get("", response={200: Page[StudyAnswer], **error_responses()}, summary="Studies, the newest first")
def studies(request: HttpRequest, query: Query[StudyFilter]) -> Any:
    """Everyone who is logged in reads every study."""
    rows = search_studies(plain_text(query.search))
    if query.tag:
        rows = rows.filter(tags__overlap=[plain_text(tag) for tag in query.tag])
    if query.owner:
        rows = rows.filter(owner__username=plain_text(query.owner))
    if query.origin:
        rows = rows.filter(origin=plain_text(query.origin))
    if query.archived is not None:
        rows = rows.filter(archived__isnull=not query.archived)
    count, following, page = read_page(rows.select_related("owner"), query, find_sorting(query.sort, SORTS))
    return {"count": count, "next": following, "items": study_answers(page)}


@router.get("/{study}", response={200: StudyDetail, **error_responses(404)}, summary="One study")
def study(request: HttpRequest, study: Id) -> Any:
    """With its blocks as written, its runs by state and the time left."""
    return study_detail(get_object_or_404(Study.every.select_related("owner"), pk=study))


@router.patch("/{study}", response={200: StudyDetail, **error_responses(403, 404)}, summary="Rename, tag, prioritise")
def change(request: HttpRequest, study: Id, change: StudyChange) -> Any:
    """Fields that are not sent stay as they are."""
    one, actor, fields = study_or_404(study), current_user(request), change.model_dump(exclude_unset=True)
    archived = fields.pop("archived", None)
    one = changes.study_update(study=one, actor=actor, **fields)
    if archived is not None:
        one = (study_archive if archived else study_restore)(study=one, actor=actor)
    return study_detail(one)


@router.delete(
    "/{study}",
    response={202: Counted, **error_responses(403, 404, 409)},
    summary="Delete it and the runs only it holds",
)
def delete(request: HttpRequest, study: Id, expected: Expected) -> Any:
    """Whatever their state; runs that other studies hold stay. Tells how many go, in the background.

    Until then the study is in no list, and its own address says `being_deleted`.
    """
    runs = study_delete(study=study_or_404(study), actor=current_user(request), expected=expected)
    return Status(202, {"runs": runs})


@router.post(
    "/{study}/cancel", response={200: StudyDetail, **error_responses(403, 404)}, summary="Cancel runs only it holds"
)
def cancel(request: HttpRequest, study: Id) -> Any:
    """Queued runs at once, running ones within seconds. What was measured is kept."""
    return study_detail(changes.study_cancel(study=study_or_404(study), actor=current_user(request)))


@router.post(
    "/{study}/pause", response={200: StudyDetail, **error_responses(403, 404)}, summary="Hold queued runs back"
)
def pause(request: HttpRequest, study: Id) -> Any:
    """Running ones go on."""
    return study_detail(changes.study_pause(study=study_or_404(study), actor=current_user(request)))


@router.post(
    "/{study}/resume", response={200: StudyDetail, **error_responses(403, 404)}, summary="Let queued runs go on"
)
def resume(request: HttpRequest, study: Id) -> Any:
    """The opposite of pause."""
    return study_detail(changes.study_resume(study=study_or_404(study), actor=current_user(request)))


@router.post(
    "/{study}/retry", response={200: Counted, **error_responses(403, 404)}, summary="Try what did not end well again"
)
def retry(request: HttpRequest, study: Id, reason: Reason) -> Any:
    """Failed and cancelled runs are queued again, each from its last checkpoint."""
    one = study_or_404(study)
    return {"runs": changes.study_retry(study=one, actor=current_user(request), reason=reason or None)}


LATEST = 2**31 - 1


class SummaryQuery(Schema):
    by: str = Field(
        "",
        max_length=2000,
        description="Fields to group by, with commas between; empty: every field in which the runs differ.",
        examples=["strategy,partition"],
    )
    metric: str = Field("accuracy", max_length=100, description="Which number.", examples=["accuracy"])
    rounds: str = Field(
        "",
        pattern=r"^(\d{1,10}(,\d{1,10}){0,19})?$",
        description="Rounds, with commas between, at most 20; empty: the last round of each run that is done.",
        examples=["10,20,50"],
    )


@router.get(
    "/{study}/summary",
    response={200: SummaryAnswer, **error_responses(404)},
    summary="Its results in a table",
    operation_id="summary_summary",
)
def summary(request: HttpRequest, study: Id, query: Query[SummaryQuery]) -> Any:
    """Mean and spread over the runs that share the fields in `by`, which are their seeds unless more is left out."""
    one = get_object_or_404(Study, pk=study)
    by = [path.strip() for path in query.by.split(",") if path.strip()]
    if unknown := [path for path in by if not is_spec_path(path)]:
        raise SpecError([Problem("by", f"There is no field {path}: name one as strategy.mu.") for path in unknown])
    rounds = [min(int(each), LATEST) for each in query.rounds.split(",") if each]
    metric = plain_text(query.metric)

    def answer() -> dict[str, Any]:
        result = study_summary(study=one.pk, metric=metric, by=by, rounds=rounds)
        return {"by": result.by, "rows": [json_safe(vars(row)) for row in result.rows]}

    return {"study": one.pk, "metric": query.metric, **compute_once(("summary", one.pk, metric, *by, *rounds), answer)}
