"""What a run left, to take away: its model, spec and log; and the log's newest lines."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404

from experiments.labels.specs import spec_yaml
from experiments.models import Run, RunState
from experiments.results.selectors.files import LOG, SPEC, kept_files, run_log
from experiments.web.requests import whole_number
from workers.store.store import StoreError

CHUNK = 1 << 20
UNUSUAL = re.compile(r"[^A-Za-z0-9._-]")
YAML, TEXT, BINARY = "application/yaml; charset=utf-8", "text/plain; charset=utf-8", "application/octet-stream"


def run_log_part(request: HttpRequest, pk: int) -> JsonResponse:
    """From a byte on, or its last lines; `active` says whether more may come."""
    run = get_object_or_404(Run, pk=pk)
    after = request.GET.get("after")
    part = run_log(run=pk, after=None if after is None else whole_number(after, 0))
    active = run.state in (RunState.QUEUED, RunState.RUNNING)
    return JsonResponse(
        {"text": part.text, "after": part.after, "size": part.size, "here": part.here, "active": active}
    )


def run_file(request: HttpRequest, pk: int, name: str) -> HttpResponseBase:
    run = get_object_or_404(Run, pk=pk)
    if name == SPEC:
        return yaml_response(spec_yaml(run.spec), f"run-{pk}.yaml")
    file = kept_files(run).get(name)
    if file is None:
        raise Http404
    try:
        path = file.path()
    except FileNotFoundError:
        raise Http404 from None
    except StoreError as error:
        return HttpResponse(error.detail, status=503, content_type=TEXT)
    return stream_file(path, f"run-{pk}-{name}", TEXT if name == LOG else BINARY)


def yaml_response(text: str, name: str) -> HttpResponse:
    return HttpResponse(text, content_type=YAML, headers=attachment_header(name))


def stream_file(path: Path, name: str, content_type: str) -> StreamingHttpResponse:
    """As many bytes as it has now: a log grows meanwhile."""
    size = path.stat().st_size
    headers = {**attachment_header(name), "Content-Length": str(size)}
    return StreamingHttpResponse(read_chunks(path, size), content_type=content_type, headers=headers)


async def read_chunks(path: Path, size: int) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while size > 0 and (chunk := await asyncio.to_thread(file.read, min(CHUNK, size))):
            size -= len(chunk)
            yield chunk


def attachment_header(name: str) -> dict[str, str]:
    """An app calls its files what it likes."""
    return {"Content-Disposition": f'attachment; filename="{UNUSUAL.sub("-", name)}"'}
