"""Runs over REST: filters by anything a run has or its spec says, and everything about one run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from django.db.models import FloatField, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from experiments.api.paging import Paging, Sorting, SortKey, integer_key, number_key, read_page, time_key
from experiments.api.schemas import Id, Page, State, error_responses
from experiments.core.json_values import plain_text
from experiments.models import Run
from experiments.queue.services.retry import run_retry
from experiments.queue.services.runs import run_cancel
from experiments.results.schemas import (
    ClientsAnswer,
    LogAnswer,
    MetricsAnswer,
    RunAnswer,
    RunDetail,
    client_rounds,
    metric_rounds,
    run_answer,
    run_detail,
    with_studies,
)
from experiments.results.selectors.files import LOG_BYTES, run_log
from experiments.results.selectors.latest import last_round_values
from experiments.results.selectors.run_filters import FACT_FILTERS, filter_runs, parse_run_filters, spec_paths
from experiments.statistics.curves import NOT_FINITE
from experiments.web.requests import current_user

router = Router(tags=["runs"])


SORTS = {
    "id": integer_key("id"),
    "seed": integer_key("seed"),
    "rounds_done": integer_key("rounds_done"),
    "created": time_key("created"),
    "started": time_key("started"),
    "finished": time_key("finished"),
}


METRIC_PREFIX = "metric."


class RunChoice(Schema):
    study: list[Id] = Field([], description="Runs that one of these studies holds.", examples=[[12]])
    state: list[State] = Field([], description="Runs in one of these states.", examples=[["done", "failed"]])
    tag: list[str] = Field([], description="Runs of a study with one of these tags.", examples=[["skew"]])
    run: list[Id] = Field([], description="These runs.", examples=[[71]])
    cell: list[str] = Field([], description="Runs of these cells.", examples=[["4f0e8d7f6b5a4c3d"]])


class RunFilter(RunChoice, Paging):
    sort: str = Field(
        "id",
        max_length=120,
        pattern=rf"^-?({'|'.join(SORTS)}|metric\.[^\x00]+)$",
        description="By what: a fact, or the last value of a metric such as `-metric.accuracy`. A minus turns it "
        "round; runs without the value come last.",
        examples=["-metric.accuracy"],
    )


NOT_FILTERS = set(Paging.model_fields) | {"sort"}


def spec_fields_parameter() -> dict[str, Any]:
    """Every field of a spec is a filter of its own name; OpenAPI has them as one object that is spread out."""
    fields = {path: {"type": "string"} for path in sorted(spec_paths() - set(FACT_FILTERS))}
    return {
        "in": "query",
        "name": "fields",
        "style": "form",
        "explode": True,
        "required": False,
        "description": "Any field of the spec by its path: `strategy=fedprox&strategy.mu=0.1&partition.alpha=0.5`. The "
        "same name again means any of the values, another name means both. Every key of an app's config is a field, "
        "too: `app=my-app&app.learning-rate=0.1`.",
        "schema": {
            "type": "object",
            "properties": fields,
            "patternProperties": {r"^app\.": {"type": "string"}},
            "additionalProperties": False,
            "examples": [{"strategy": "fedprox", "strategy.mu": "0.1"}],
        },
    }


def requested_runs(request: HttpRequest) -> QuerySet[Run]:
    return filter_runs(Run.objects.all(), parse_run_filters(request.GET.lists(), besides=NOT_FILTERS))


def run_sorting(sort: str) -> Sorting:
    name = sort.removeprefix("-")
    return Sorting(
        sort, metric_key(name.removeprefix(METRIC_PREFIX)) if name.startswith(METRIC_PREFIX) else SORTS[name]
    )


def metric_key(name: str) -> SortKey:
    """Its value in the last round; what is not finite counts as none."""
    last = last_round_values(name=plain_text(name), run="pk", rounds_done="rounds_done").filter(~Q(NOT_FINITE))[:1]
    return number_key(Subquery(last, output_field=FloatField()))


ROUND_LIMIT = 2**31 - 1


FromStart = Annotated[
    bool, Query(False, description="Forgets its rounds and checkpoints, and begins anew.", examples=[True])
]


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


def run_or_404(run: int) -> Run:
    return get_object_or_404(with_studies(Run.objects.all()), pk=run)


@router.get(
    "",
    response={200: Page[RunAnswer], **error_responses()},
    summary="Runs, the oldest first",
    openapi_extra={"parameters": [spec_fields_parameter()]},
)
def runs(request: HttpRequest, query: Query[RunFilter]) -> Any:
    """Filtered by any field of their spec, named by its path: `?strategy=fedprox&strategy.mu=0.1&state=done`."""
    count, following, page = read_page(with_studies(requested_runs(request)), query, run_sorting(query.sort))
    return {"count": count, "next": following, "items": [run_answer(run) for run in page]}


@router.get("/{run}", response={200: RunDetail, **error_responses(404)}, summary="One run")
def run(request: HttpRequest, run: Id) -> Any:
    """With its spec, its provenance and every attempt at it."""
    return run_detail(run_or_404(run))


@router.get("/{run}/metrics", response={200: MetricsAnswer, **error_responses(404)}, summary="Its numbers")
def metrics(request: HttpRequest, run: Id, query: Query[MetricsQuery]) -> Any:
    """Every metric of every committed round, 200,000 numbers at a time; `name` (repeatable) and `after` narrow it."""
    one = get_object_or_404(Run, pk=run)
    rounds, following = metric_rounds(one, [plain_text(name) for name in query.name], query.after)
    return {"run": one.pk, "state": one.state, "next": following, "rounds": rounds}


@router.get("/{run}/clients", response={200: ClientsAnswer, **error_responses(404)}, summary="Its clients' numbers")
def clients(request: HttpRequest, run: Id, query: Query[ClientsQuery]) -> Any:
    """Who took part in each round, and what each client measured; of very many clients, fewer rounds at a time."""
    one = get_object_or_404(Run, pk=run)
    rounds, following = client_rounds(one, query.after, query.limit)
    return {"run": one.pk, "state": one.state, "next": following, "rounds": rounds}


@router.get("/{run}/log", response={200: LogAnswer, **error_responses(404)}, summary="What its process printed")
def log(request: HttpRequest, run: Id, query: Query[LogQuery]) -> Any:
    """The end of it, or from a byte on: ask again with `after` to follow it."""
    one = get_object_or_404(Run, pk=run)
    return {"run": one.pk, **asdict(run_log(run=one.pk, after=query.after, limit=query.limit))}


@router.post(
    "/{run}/cancel",
    response={200: RunDetail, **error_responses(403, 404, 409)},
    summary="Cancel it",
    operation_id="runs_cancel",
    url_name="cancel",
)
def cancel_run(request: HttpRequest, run: Id) -> Any:
    """Queued or running; all studies that wait for it must be yours."""
    return run_detail(run_cancel(run=run_or_404(run), actor=current_user(request)))


@router.post(
    "/{run}/retry",
    response={200: RunDetail, **error_responses(403, 404, 409)},
    summary="Try it again",
    operation_id="runs_retry",
    url_name="retry",
)
def retry_run(request: HttpRequest, run: Id, from_start: FromStart) -> Any:
    """Failed or cancelled; it goes on from its last checkpoint as a new attempt, or begins anew with `from_start=true`.

    Where its data, code or engine changed since its launch, its spec is launched again under today's identity: your
    studies hold that run in its place, and the answer is that run.
    """
    return run_detail(run_retry(run=run_or_404(run), actor=current_user(request), from_start=from_start))
