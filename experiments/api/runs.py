from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from experiments.api.auth import person
from experiments.api.paging import page_of
from experiments.api.present import client_rounds, metric_rounds, run_answer, run_detail, with_studies
from experiments.api.run_query import RunFilter, axes_parameter, run_sorting, runs_wanted
from experiments.api.run_schemas import ClientsAnswer, LogAnswer, MetricsAnswer, RunAnswer, RunDetail
from experiments.api.schemas import Id, Page, refusals
from experiments.models import Run
from experiments.selectors.run_log import LOG_BYTES, run_log
from experiments.services.numbers import plain_text
from experiments.services.runs import run_cancel, run_retry

router = Router(tags=["runs"])
ROUND_LIMIT = 2**31 - 1


class RoundsQuery(Schema):
    after: int = Field(-1, ge=-1, le=ROUND_LIMIT, description="Only rounds after this one.", examples=[-1])


class MetricsQuery(RoundsQuery):
    name: list[str] = Field([], description="Only these metrics.", examples=[["accuracy", "loss"]])


class ClientsQuery(RoundsQuery):
    limit: int = Field(50, ge=1, le=1000, description="Rounds on a page.", examples=[50])


class LogQuery(Schema):
    after: int | None = Field(
        None, ge=0, lt=2**63, description="Read on from this byte; otherwise the end of the log.", examples=[34]
    )
    limit: int = Field(LOG_BYTES, ge=1024, le=1_000_000, description="Bytes at most.", examples=[65536])


def found(run: int) -> Run:
    return get_object_or_404(with_studies(Run.objects.all()), pk=run)


@router.get(
    "",
    response={200: Page[RunAnswer], **refusals()},
    summary="Runs, the oldest first",
    openapi_extra={"parameters": [axes_parameter()]},
)
def runs(request: HttpRequest, wanted: Query[RunFilter]) -> Any:
    """Filtered by any field of their spec, named by its path: `?strategy=fedprox&strategy.mu=0.1&state=done`."""
    count, following, page = page_of(with_studies(runs_wanted(request)), wanted, run_sorting(wanted.sort))
    return {"count": count, "next": following, "items": [run_answer(run) for run in page]}


@router.get("/{run}", response={200: RunDetail, **refusals(404)}, summary="One run")
def run(request: HttpRequest, run: Id) -> Any:
    """With its spec, its provenance and every attempt at it."""
    return run_detail(found(run))


@router.get("/{run}/metrics", response={200: MetricsAnswer, **refusals(404)}, summary="Its numbers")
def metrics(request: HttpRequest, run: Id, wanted: Query[MetricsQuery]) -> Any:
    """Every metric of every committed round; `name` (repeatable) and `after` a round narrow it."""
    one = get_object_or_404(Run, pk=run)
    names = [plain_text(name) for name in wanted.name]
    return {"run": one.pk, "state": one.state, "rounds": metric_rounds(one, names, wanted.after)}


@router.get("/{run}/clients", response={200: ClientsAnswer, **refusals(404)}, summary="Its clients' numbers")
def clients(request: HttpRequest, run: Id, wanted: Query[ClientsQuery]) -> Any:
    """Who took part in each round, and what each client measured."""
    one = get_object_or_404(Run, pk=run)
    rounds = client_rounds(one, wanted.after, wanted.limit + 1)
    page = rounds[: wanted.limit]
    following = page[-1]["round"] if len(rounds) > wanted.limit else None
    return {"run": one.pk, "state": one.state, "next": following, "rounds": page}


@router.get("/{run}/log", response={200: LogAnswer, **refusals(404)}, summary="What its process printed")
def log(request: HttpRequest, run: Id, wanted: Query[LogQuery]) -> Any:
    """The end of it, or from a byte on: ask again with `after` to follow it."""
    one = get_object_or_404(Run, pk=run)
    return {"run": one.pk, **asdict(run_log(run=one.pk, after=wanted.after, limit=wanted.limit))}


@router.post("/{run}/cancel", response={200: RunDetail, **refusals(403, 404, 409)}, summary="Cancel it")
def cancel(request: HttpRequest, run: Id) -> Any:
    """Queued or running; all studies that wait for it must be yours."""
    return run_detail(run_cancel(run=found(run), actor=person(request)))


@router.post("/{run}/retry", response={200: RunDetail, **refusals(403, 404, 409)}, summary="Try it again")
def retry(request: HttpRequest, run: Id) -> Any:
    """Failed or cancelled; it goes on from its last checkpoint as a new attempt."""
    return run_detail(run_retry(run=found(run), actor=person(request)))
