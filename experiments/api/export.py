"""GET /metrics: every number of a study as tidy rows, streamed from one snapshot."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from typing import Any, Literal

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from experiments.api.schemas import ErrorAnswer
from experiments.models import Metric, Run, Study
from workers.spec import flatten, varying_paths

router = Router(tags=["export"])
CHUNK = 5_000
FIXED = ("run", "study", "cell", "seed", "round", "metric", "value")


class MetricFilter(Schema):
    study: int = Field(ge=1, lt=2**63)
    format: Literal["csv"] = "csv"


@dataclass(frozen=True)
class Table:
    """`varying` are the fields in which the study's runs differ; `facts` are a run's own columns."""

    study: int
    varying: list[str]
    facts: dict[int, list[Any]]
    values: Iterator[tuple[int, int, str, float]]

    def rows(self, values: Iterable[tuple[int, int, str, float]]) -> Iterator[list[Any]]:
        for run, number, name, value in values:
            cell, seed, *own = self.facts[run]
            yield [run, self.study, cell, seed, number, name, repr(value), *own]


@router.get("/metrics", response={200: str, 401: ErrorAnswer, 404: ErrorAnswer}, summary="All numbers of a study")
async def metrics(request: HttpRequest, wanted: Query[MetricFilter]) -> StreamingHttpResponse:
    """One row per run, round and metric; one column per field in which the runs differ, named by its path."""
    table = await sync_to_async(table_of)(wanted.study)
    headers = {"Content-Disposition": f'attachment; filename="study-{wanted.study}.csv"'}
    return StreamingHttpResponse(lines(table), content_type="text/csv; charset=utf-8", headers=headers)


def table_of(study: int) -> Table:
    get_object_or_404(Study, pk=study)
    runs = list(Run.objects.filter(memberships__study=study).order_by("memberships__position"))
    varying = varying_paths(run.spec for run in runs)
    flat = {run.pk: flatten(run.spec) for run in runs}
    facts = {run.pk: [run.cell, run.seed, *(flat[run.pk].get(path) for path in varying)] for run in runs}
    values = Metric.objects.filter(run_id__in=list(facts)).order_by("run_id", "round", "name")
    columns = values.values_list("run_id", "round", "name", "value")
    return Table(study, varying, facts, columns.iterator(chunk_size=CHUNK))


async def lines(table: Table) -> AsyncIterator[str]:
    try:
        yield text([[*FIXED, *table.varying]])
        while chunk := await sync_to_async(lambda: list(islice(table.values, CHUNK)))():
            yield text(table.rows(chunk))
    finally:
        await sync_to_async(close_connection)()


def close_connection() -> None:
    """Looked up in the thread that runs this: each has its own connection."""
    connection.close()


def text(rows: Iterable[list[Any]]) -> str:
    file = StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()
