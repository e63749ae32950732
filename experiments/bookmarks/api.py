"""Pinned studies, and starred cells that others are compared with."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Path, Query, Router, Status

from experiments.api.paging import Paging, find_sorting, integer_key, read_page
from experiments.api.schemas import Id, Page, error_responses
from experiments.bookmarks.schemas import BaselineAnswer, PinAnswer, baseline_answer, pin_answer
from experiments.bookmarks.selectors import baseline_rows, pins_of
from experiments.bookmarks.services import baseline_star, baseline_unstar, study_pin, study_unpin
from experiments.core.json_values import json_safe
from experiments.models import Baseline, Study
from experiments.web.requests import current_user

router = Router(tags=["notes"])
NEWEST = find_sorting("-id", {"id": integer_key("id")})
CellKey = Annotated[
    str,
    Path(description="The cell's key, as a run's `cell` has it.", pattern="^[0-9A-Za-z]{1,64}$", examples=["5f2b7c"]),
]
ForAll = Annotated[bool, Query(False, description="For everyone: admins only.", examples=[False])]


@router.get("/pins", response={200: Page[PinAnswer], **error_responses()}, summary="Pinned studies, the latest first")
def pins(request: HttpRequest, paging: Query[Paging]) -> Any:
    """Your own, and those that an admin pinned for everyone."""
    count, following, page = read_page(pins_of(person=current_user(request)), paging, NEWEST)
    return {"count": count, "next": following, "items": [pin_answer(each) for each in page]}


@router.put(
    "/studies/{study}/pin",
    response={200: PinAnswer, **error_responses(403, 404)},
    summary="Pin a study to the top of home",
    operation_id="pins_pin",
)
def pin(request: HttpRequest, study: Id, for_all: ForAll) -> Any:
    """For yourself, viewers too; an admin also for everyone. Sent twice it stays one pin."""
    one = get_object_or_404(Study, pk=study)
    return pin_answer(study_pin(study=one, actor=current_user(request), for_all=for_all))


@router.delete(
    "/studies/{study}/pin",
    response={204: None, **error_responses(403, 404)},
    summary="Take a pin away",
    operation_id="pins_unpin",
)
def unpin(request: HttpRequest, study: Id, for_all: ForAll) -> Any:
    """Your own, or as an admin everyone's."""
    study_unpin(study=get_object_or_404(Study, pk=study), actor=current_user(request), for_all=for_all)
    return Status(204, None)


@router.get("/baselines", response={200: Page[BaselineAnswer], **error_responses()}, summary="Starred cells")
def baselines(request: HttpRequest, paging: Query[Paging]) -> Any:
    """The cells of the lab that comparisons can be shown against, the latest first."""
    count, following, page = read_page(Baseline.objects.all(), paging, NEWEST)
    rows = baseline_rows(Baseline.objects.filter(pk__in=[each.pk for each in page]).order_by("-pk"))
    return json_safe({"count": count, "next": following, "items": [baseline_answer(each) for each in rows]})


@router.put(
    "/studies/{study}/baselines/{cell}",
    response={200: BaselineAnswer, **error_responses(403, 404)},
    summary="Star a cell of a study",
    operation_id="baselines_star",
)
def star(request: HttpRequest, study: Id, cell: CellKey) -> Any:
    """Of a study that you manage. Sent twice it stays one baseline."""
    one = get_object_or_404(Study, pk=study)
    baseline = baseline_star(study=one, cell=cell, actor=current_user(request))
    (row,) = baseline_rows(Baseline.objects.filter(pk=baseline.pk))
    return json_safe(baseline_answer(row))


@router.delete(
    "/studies/{study}/baselines/{cell}",
    response={204: None, **error_responses(403, 404)},
    summary="Take a cell's star away",
    operation_id="baselines_unstar",
)
def unstar(request: HttpRequest, study: Id, cell: CellKey) -> Any:
    """The cell and its runs stay."""
    one = get_object_or_404(Baseline.objects.select_related("study"), study=study, cell=cell)
    baseline_unstar(baseline=one, actor=current_user(request))
    return Status(204, None)
