"""Every number as tables that stream: GET /metrics, and GET /export/... for what else there is."""

from __future__ import annotations

import re
from typing import Any, Literal

from django.http import Http404, HttpRequest, StreamingHttpResponse
from ninja import Query, Router
from pydantic import Field

from experiments.api.schemas import refusals
from experiments.core.json_values import plain_text
from experiments.models import Study
from experiments.results.api import RunChoice, axes_parameter
from experiments.results.selectors.run_filters import run_filters

router = Router(tags=["export"])
MOST_NAMES = 1000
ACCEPTS_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))")
BINARY = {"schema": {"type": "string", "format": "binary"}}
TEXT = {"schema": {"type": "string"}}
ROWS = {"schema": {"type": "array", "items": {"type": "object"}}}
CONTENT = {
    "text/csv": TEXT,
    "application/json": ROWS,
    "application/x-ndjson": TEXT,
    "application/vnd.apache.parquet": BINARY,
}
ROUTE: dict[str, Any] = {
    "response": {200: None, **refusals(404)},
    "openapi_extra": {
        "parameters": [axes_parameter()],
        "responses": {200: {"description": "The rows, as they are read", "content": CONTENT}},
    },
}


class ExportQuery(RunChoice):
    format: Literal["csv", "json", "ndjson", "parquet"] = Field(
        "csv", description="What the rows are written as.", examples=["parquet"]
    )


class NumbersQuery(ExportQuery):
    metric: list[str] = Field(
        [], max_length=MOST_NAMES, description="Only these metrics; all, if none is named.", examples=[["accuracy"]]
    )


@router.get("/metrics", summary="Every round's numbers", **ROUTE)
def metrics(request: HttpRequest, wanted: Query[NumbersQuery]) -> StreamingHttpResponse:
    """A row for each run, metric and round: `run, study, cell, seed, round, metric, value`, and a column for each field
    in which the runs differ, named by its path: `strategy`, `strategy.mu`, `partition.alpha`.

    Runs are chosen as in `/runs`, by any field of their spec. The rows tell of one moment, whatever is committed while
    they are read. Sent gzipped to whoever accepts it, except Parquet.
    """
    return exported(request, "metrics", wanted, wanted.metric)


@router.get("/export/clients", summary="Every client's numbers", **ROUTE)
def clients(request: HttpRequest, wanted: Query[NumbersQuery]) -> StreamingHttpResponse:
    """A row for each run, round, client and metric; `took_part` tells whether the client was in the round's cohort."""
    return exported(request, "clients", wanted, wanted.metric)


@router.get("/export/summaries", summary="Means and spreads over seeds", **ROUTE)
def summaries(request: HttpRequest, wanted: Query[NumbersQuery]) -> StreamingHttpResponse:
    """A row for each cell, metric and round: mean, std (ddof 1), min, max, n, and how many seeds were not finite."""
    return exported(request, "summaries", wanted, wanted.metric)


@router.get("/export/specs", summary="What was run", **ROUTE)
def specs(request: HttpRequest, wanted: Query[ExportQuery]) -> StreamingHttpResponse:
    """A row for each run, with every field of its spec."""
    return exported(request, "specs", wanted)


@router.get("/export/partitions", summary="What clients held", **ROUTE)
def partitions(request: HttpRequest, wanted: Query[ExportQuery]) -> StreamingHttpResponse:
    """A row for each run, client and statistic: samples, classes, entropy, samples of each class; as drawn now."""
    return exported(request, "partitions", wanted)


def exported(
    request: HttpRequest, table: str, wanted: ExportQuery, metrics: list[str] | None = None
) -> StreamingHttpResponse:
    # pyarrow is for those who export.
    from experiments.export.export import Wanted, export_parts
    from experiments.export.writing import FORMATS, Stream, begun, gzipped

    filters = run_filters(request.GET.lists(), besides=["format", "metric"])
    check_studies(wanted.study)
    names = [plain_text(name) for name in metrics or ()]
    chosen = FORMATS[wanted.format]
    parts = begun(export_parts(Wanted(table, wanted.format, filters, names)))
    gzip = not chosen.compressed and accepts_gzip(request)
    response = StreamingHttpResponse(Stream(gzipped(parts) if gzip else parts), content_type=chosen.media_type)
    response["Content-Disposition"] = f'attachment; filename="{file_name(table, wanted)}"'
    response["Cache-Control"] = "private, no-store"
    if not chosen.compressed:
        response["Vary"] = "Accept-Encoding"
    if gzip:
        response["Content-Encoding"] = "gzip"
    return response


def check_studies(studies: list[int]) -> None:
    if Study.objects.filter(pk__in=studies).count() < len(set(studies)):
        raise Http404


def file_name(table: str, wanted: ExportQuery) -> str:
    studies = f"study-{'-'.join(map(str, wanted.study[:5]))}-" if wanted.study else ""
    return f"{studies}{table}.{wanted.format}"


def accepts_gzip(request: HttpRequest) -> bool:
    return ACCEPTS_GZIP.search(request.headers.get("Accept-Encoding", "")) is not None
