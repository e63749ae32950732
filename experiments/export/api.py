"""Every number as tables that stream: GET /metrics, and GET /export/... for what else there is."""

from __future__ import annotations

import re
from typing import Any, Literal

from django.db import connection
from django.http import Http404, HttpRequest, StreamingHttpResponse
from ninja import Query, Router
from pydantic import Field

from experiments.access.selectors.credentials import Credential, valid_credentials
from experiments.api.auth import request_credential
from experiments.api.schemas import error_responses
from experiments.core.json_values import plain_text
from experiments.export.slots import export_slots, give_memory_back
from experiments.models import Study
from experiments.results.api import RunChoice, spec_fields_parameter
from experiments.results.selectors.run_filters import parse_run_filters
from experiments.web.requests import current_user

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
    "response": {200: None, **error_responses(404)},
    "openapi_extra": {
        "parameters": [spec_fields_parameter()],
        "responses": {200: {"description": "The rows, as they are read", "content": CONTENT}},
    },
}


def route_options(table: str) -> dict[str, Any]:
    return {"operation_id": f"export_{table}", "url_name": table, **ROUTE}


class ExportQuery(RunChoice):
    format: Literal["csv", "json", "ndjson", "parquet"] = Field(
        "csv", description="What the rows are written as.", examples=["parquet"]
    )


class NumbersQuery(ExportQuery):
    metric: list[str] = Field(
        [], max_length=MOST_NAMES, description="Only these metrics; all, if none is named.", examples=[["accuracy"]]
    )


@router.get("/metrics", summary="Every round's numbers", **route_options("metrics"))
def export_metrics(request: HttpRequest, query: Query[NumbersQuery]) -> StreamingHttpResponse:
    """A row for each run, metric and round: `run, study, cell, seed, round, metric, value`, and a column for each field
    in which the runs differ, named by its path: `strategy`, `strategy.mu`, `partition.alpha`.

    Runs are chosen as in `/runs`, by any field of their spec. The rows tell of one moment, whatever is committed while
    they are read. Sent gzipped to whoever accepts it, except Parquet.
    """
    return stream_export(request, "metrics", query, query.metric)


@router.get("/export/clients", summary="Every client's numbers", **route_options("clients"))
def export_clients(request: HttpRequest, query: Query[NumbersQuery]) -> StreamingHttpResponse:
    """A row for each run, round, client and metric; `took_part` tells whether the client was in the round's cohort."""
    return stream_export(request, "clients", query, query.metric)


@router.get("/export/summaries", summary="Means and spreads over seeds", **route_options("summaries"))
def export_summaries(request: HttpRequest, query: Query[NumbersQuery]) -> StreamingHttpResponse:
    """A row for each cell, metric and round: mean, std (ddof 1), min, max, n, and how many seeds were not finite."""
    return stream_export(request, "summaries", query, query.metric)


@router.get("/export/specs", summary="What was run", **route_options("specs"))
def export_specs(request: HttpRequest, query: Query[ExportQuery]) -> StreamingHttpResponse:
    """A row for each run, with every field of its spec."""
    return stream_export(request, "specs", query)


@router.get("/export/partitions", summary="What clients held", **route_options("partitions"))
def export_partitions(request: HttpRequest, query: Query[ExportQuery]) -> StreamingHttpResponse:
    """A row for each run, client and statistic: samples, classes, entropy, samples of each class; as drawn now."""
    return stream_export(request, "partitions", query)


@router.get("/export/notes", summary="What people wrote", **route_options("notes"))
def export_notes(request: HttpRequest, query: Query[ExportQuery]) -> StreamingHttpResponse:
    """A row for each note on these runs and on the studies that hold them: author, when, the Markdown as written."""
    return stream_export(request, "notes", query)


def stream_export(
    request: HttpRequest, table: str, query: ExportQuery, metrics: list[str] | None = None
) -> StreamingHttpResponse:
    # pyarrow is for those who export.
    from experiments.export.exporter import ExportRequest, export_parts
    from experiments.export.writing import FORMATS, PartStream, gzip_parts, make_first_part

    filters = parse_run_filters(request.GET.lists(), besides=["format", "metric"])
    require_studies(query.study)
    names = [plain_text(name) for name in metrics or ()]
    output_format = FORMATS[query.format]
    person, credential = current_user(request).pk, request_credential(request)
    export_slots().take(person)
    try:
        parts = make_first_part(export_parts(ExportRequest(table, query.format, filters, names)))
    except BaseException:
        export_slots().give_back(person)
        raise

    def end() -> None:
        export_slots().give_back(person)
        give_memory_back()

    gzip = not output_format.compressed and accepts_gzip(request)
    stream = PartStream(gzip_parts(parts) if gzip else parts, lambda: is_still_allowed(credential), end)
    response = StreamingHttpResponse(stream, content_type=output_format.media_type)
    response["Content-Disposition"] = f'attachment; filename="{export_file_name(table, query)}"'
    response["Cache-Control"] = "private, no-store"
    if not output_format.compressed:
        response["Vary"] = "Accept-Encoding"
    if gzip:
        response["Content-Encoding"] = "gzip"
    return response


def is_still_allowed(credential: Credential) -> bool:
    try:
        return credential in valid_credentials([credential])
    finally:
        connection.close()


def require_studies(studies: list[int]) -> None:
    if Study.objects.filter(pk__in=studies).count() < len(set(studies)):
        raise Http404


def export_file_name(table: str, query: ExportQuery) -> str:
    studies = f"study-{'-'.join(map(str, query.study[:5]))}-" if query.study else ""
    return f"{studies}{table}.{query.format}"


def accepts_gzip(request: HttpRequest) -> bool:
    return ACCEPTS_GZIP.search(request.headers.get("Accept-Encoding", "")) is not None
