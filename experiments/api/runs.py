from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router
from pydantic import Field

from experiments.api.auth import person
from experiments.api.paging import Paging, page_of
from experiments.api.present import metric_rounds, run_answer, run_detail, with_studies
from experiments.api.schemas import ErrorAnswer, Id, MetricsAnswer, Page, RunAnswer, RunDetail, State
from experiments.models import Run
from experiments.services.runs import run_cancel, run_retry

router = Router(tags=["runs"])
REFUSALS = {401: ErrorAnswer, 403: ErrorAnswer, 404: ErrorAnswer, 409: ErrorAnswer}


class RunFilter(Paging):
    study: int | None = Field(None, ge=1, lt=2**63)
    state: State | None = None


def found(run: int) -> Run:
    return get_object_or_404(with_studies(Run.objects.all()), pk=run)


@router.get("", response={200: Page[RunAnswer], 401: ErrorAnswer}, summary="Runs, the oldest first")
def runs(request: HttpRequest, wanted: Query[RunFilter]) -> Any:
    rows = with_studies(Run.objects.all())
    if wanted.study is not None:
        rows = rows.filter(memberships__study=wanted.study)
    if wanted.state is not None:
        rows = rows.filter(state=wanted.state)
    count, following, page = page_of(rows, wanted)
    return {"count": count, "next": following, "items": [run_answer(run) for run in page]}


@router.get("/{run}", response={200: RunDetail, 401: ErrorAnswer, 404: ErrorAnswer}, summary="One run")
def run(request: HttpRequest, run: Id) -> Any:
    return run_detail(found(run))


@router.get("/{run}/metrics", response={200: MetricsAnswer, 401: ErrorAnswer, 404: ErrorAnswer}, summary="Its numbers")
def metrics(request: HttpRequest, run: Id, name: Query[list[str]] = [], after: int = -1) -> Any:  # noqa: B006  # ninja copies it
    """Every metric of every committed round; `name` (repeatable) and `after` a round narrow it."""
    one = get_object_or_404(Run, pk=run)
    return {"run": one.pk, "state": one.state, "rounds": metric_rounds(one, name, after)}


@router.post("/{run}/cancel", response={200: RunDetail, **REFUSALS}, summary="Cancel a queued or running run")
def cancel(request: HttpRequest, run: Id) -> Any:
    return run_detail(run_cancel(run=found(run), actor=person(request)))


@router.post("/{run}/retry", response={200: RunDetail, **REFUSALS}, summary="Try a failed or cancelled run again")
def retry(request: HttpRequest, run: Id) -> Any:
    return run_detail(run_retry(run=found(run), actor=person(request)))
