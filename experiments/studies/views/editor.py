"""New study: the form, its running check, the table of its runs, and the launch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.access.services.rights import require_launch
from experiments.core.errors import NotAllowedError
from experiments.models import Run, Study
from experiments.studies.editor.clone import Start, empty_start, start_from_run, start_from_study
from experiments.studies.editor.draft import Wish, draft, listed, preview
from experiments.studies.editor.fields import editor_fields
from experiments.studies.editor.source import rewritten, study_from_yaml, yaml_from_study
from experiments.studies.services.definition import definition_launch, parse_definition
from experiments.web.requests import person, whole_number
from workers.errors import TributaryError


def new_study(request: HttpRequest) -> HttpResponse:
    try:
        require_launch(person(request))
    except NotAllowedError as error:
        return render(request, "403.html", {"detail": error.detail}, status=403)
    start = start_of(request.GET) if request.GET.keys() & {"from", "run"} else empty_start()
    if start is None:
        raise Http404("What this study should start as is not there.")
    carried = {"study": start.study, "text": start.text, "like": start.like}
    return render(request, "pages/editor.html", {"fields": editor_fields(), "start": start, "carried": carried})


def start_of(given: Mapping[str, Any]) -> Start | None:
    """The study (`from`) or the run (`run`) that a new one starts as; None where it is gone."""
    if "run" in given:
        run = Run.objects.filter(pk=whole_number(str(given["run"]), 0)).first()
        return start_from_run(run) if run else None
    study = Study.objects.filter(pk=whole_number(str(given.get("from")), 0)).first()
    return start_from_study(study) if study else None


def body(request: HttpRequest) -> dict[str, Any]:
    try:
        found = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def text_in(asked: Mapping[str, Any], key: str) -> str | None:
    return value if isinstance(value := asked.get(key), str) else None


def started_as(asked: Mapping[str, Any]) -> Start | None:
    like = asked.get("like")
    return start_of(like) if isinstance(like, dict) else None


@require_POST
def study_draft(request: HttpRequest) -> JsonResponse:
    asked = body(request)
    study, start = asked.get("study"), started_as(asked)
    wish = Wish(
        study=study if isinstance(study, dict) else None,
        text=text_in(asked, "yaml"),
        written=text_in(asked, "written"),
        like=start.study if start else None,
        calibrate=asked.get("calibrate") is True,
    )
    return JsonResponse(asdict(draft(person(request), wish)))


@require_POST
def study_preview(request: HttpRequest) -> HttpResponse:
    asked = body(request)
    page = asked.get("page")
    try:
        definition = parse_definition({"name": "", **study_in(asked)})
        found = preview(definition, page if isinstance(page, int) else 1)
    except TributaryError as error:
        return render(request, "parts/editor_preview.html", {"problems": listed(error)})
    return render(request, "parts/editor_preview.html", {"preview": found})


def study_in(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    text, study = text_in(asked, "yaml"), asked.get("study")
    if text is not None:
        return study_from_yaml(text)
    return study if isinstance(study, dict) else {}


@require_POST
def launch(request: HttpRequest) -> JsonResponse:
    """The study as data, with the text it was written as; or the text alone."""
    asked = body(request)
    try:
        found = asked.get("study")
        study = found if found is not None or "yaml" not in asked else study_from_yaml(str(asked["yaml"]))
        definition = parse_definition(study)
        source = rewritten(text_in(asked, "yaml") or "", study) if isinstance(study, dict) else ""
        start = started_as(asked)
        made = definition_launch(
            owner=person(request), definition=definition, source=source, parent=start.parent if start else None
        )
    except TributaryError as error:
        status = 403 if isinstance(error, NotAllowedError) else 422
        return JsonResponse({"detail": error.detail, "errors": listed(error)}, status=status)
    return JsonResponse({"url": reverse("study", args=[made.pk])}, status=201)


def study_yaml(request: HttpRequest, pk: int) -> HttpResponse:
    """The study's definition as a file, as it was written."""
    study = get_object_or_404(Study, pk=pk)
    fields = {name: getattr(study, name) for name in ("name", "description", "tags", "blocks")}
    name = {"Content-Disposition": f'attachment; filename="study-{study.pk}.yaml"'}
    return HttpResponse(study.source or yaml_from_study(fields), content_type="application/yaml", headers=name)
