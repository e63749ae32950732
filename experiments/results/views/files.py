"""What a run left, to take away: its model, spec and log; and the log's newest lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404

from experiments.labels.specs import spec_yaml
from experiments.models import Run, RunState
from experiments.results.selectors.files import LOG, SPEC, paths_of, run_log
from experiments.web.requests import whole_number

CHUNK = 1 << 20
YAML, TEXT, BINARY = "application/yaml; charset=utf-8", "text/plain; charset=utf-8", "application/octet-stream"


def log(request: HttpRequest, pk: int) -> JsonResponse:
    """From a byte on, or its last lines; `active` says whether more may come."""
    found = get_object_or_404(Run, pk=pk)
    asked = request.GET.get("after")
    part = run_log(run=pk, after=None if asked is None else whole_number(asked, 0))
    active = found.state in (RunState.QUEUED, RunState.RUNNING)
    return JsonResponse(
        {"text": part.text, "after": part.after, "size": part.size, "here": part.here, "active": active}
    )


def run_file(request: HttpRequest, pk: int, name: str) -> HttpResponseBase:
    found = get_object_or_404(Run, pk=pk)
    if name == SPEC:
        return yaml_file(spec_yaml(found.spec), f"run-{pk}.yaml")
    path = paths_of(found).get(name)
    if path is None or not path.is_file():
        raise Http404
    return streamed(path, f"run-{pk}-{name}", TEXT if name == LOG else BINARY)


def yaml_file(text: str, name: str) -> HttpResponse:
    return HttpResponse(text, content_type=YAML, headers=attachment(name))


def streamed(path: Path, name: str, content_type: str) -> StreamingHttpResponse:
    """As many bytes as it has now: a log grows meanwhile."""
    size = path.stat().st_size
    headers = {**attachment(name), "Content-Length": str(size)}
    return StreamingHttpResponse(chunks(path, size), content_type=content_type, headers=headers)


async def chunks(path: Path, size: int) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while size > 0 and (chunk := await asyncio.to_thread(file.read, min(CHUNK, size))):
            size -= len(chunk)
            yield chunk


def attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
