"""Runs over REST: filters by anything a run has or its spec says, and everything about one run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db.models import FloatField, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from experiments.api.auth import person
from experiments.api.paging import Paging, Sorting, SortKey, number_key, page_of, time_key, whole_key
from experiments.api.schemas import Id, Page, State, refusals
from experiments.core.json_values import plain_text
from experiments.models import Metric, Run
from experiments.queue.services.runs import run_cancel, run_retry
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
from experiments.results.selectors.run_filters import OWN, filtered, known_paths, run_filters
from experiments.statistics.over_seeds import NOT_FINITE

router = Router(tags=["runs"])


SORTS = {
    "id": whole_key("id"),
    "seed": whole_key("seed"),
    "rounds_done": whole_key("rounds_done"),
    "created": time_key("created"),
    "started": time_key("started"),
    "finished": time_key("finished"),
}


METRIC = "metric."


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


PLAIN = set(Paging.model_fields) | {"sort"}


def axes_parameter() -> dict[str, Any]:
    """Every field of a spec is a filter of its own name; OpenAPI has them as one object that is spread out."""
    fields = {path: {"type": "string"} for path in sorted(known_paths() - set(OWN))}
    return {
        "in": "query",
        "name": "fields",
        "style": "form",
        "explode": True,
        "required": False,
        "description": "Any field of the spec by its path: `strategy=fedprox&strategy.mu=0.1&partition.alpha=0.5`. The "
        "same name again means any of the values, another name means both.",
        "schema": {
            "type": "object",
            "properties": fields,
            "additionalProperties": False,
            "examples": [{"strategy": "fedprox", "strategy.mu": "0.1"}],
        },
    }


def runs_wanted(request: HttpRequest) -> QuerySet[Run]:
    return filtered(Run.objects.all(), run_filters(request.GET.lists(), besides=PLAIN))


def run_sorting(wanted: str) -> Sorting:
    name = wanted.removeprefix("-")
    return Sorting(wanted, metric_key(name.removeprefix(METRIC)) if name.startswith(METRIC) else SORTS[name])


def metric_key(name: str) -> SortKey:
    """Its value in the last round; what is not finite counts as none."""
    values = Metric.objects.filter(~Q(NOT_FINITE), run=OuterRef("pk"), name=plain_text(name))
    last = values.filter(round=OuterRef("rounds_done")).values("value")[:1]
    return number_key(Subquery(last, output_field=FloatField()))


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
