"""Which runs: filters by anything a run has or its spec says, and the order."""

from __future__ import annotations

from typing import Any

from django.db.models import FloatField, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from ninja import Schema
from pydantic import Field

from experiments.api.paging import Paging, Sorting, SortKey, number_key, time_key, whole_key
from experiments.api.schemas import Id, State
from experiments.models import Metric, Run
from experiments.selectors.run_filters import OWN, filtered, known_paths, run_filters
from experiments.selectors.statistics import NOT_FINITE
from experiments.services.numbers import plain_text

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
