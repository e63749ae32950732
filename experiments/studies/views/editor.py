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
from experiments.studies.editor.clone import (
    Start,
    default_study,
    empty_start,
    start_from_app,
    start_from_run,
    start_from_study,
)
from experiments.studies.editor.draft import DraftRequest, check_draft, error_list, preview_runs
from experiments.studies.editor.fields import app_options, editor_fields
from experiments.studies.editor.source import rewrite_yaml, study_from_yaml, yaml_from_study
from experiments.studies.services.definition import definition_launch, parse_definition
from experiments.studies.services.planning_turns import planning_turn
from experiments.web.requests import current_user, for_launchers, whole_number
from workers.errors import TributaryError


def new_study(request: HttpRequest) -> HttpResponse:
    try:
        require_launch(current_user(request))
    except NotAllowedError as error:
        return render(request, "403.html", {"detail": error.detail}, status=403)
    start = find_start(request.GET) if request.GET.keys() & {"from", "run", "app"} else empty_start()
    if start is None:
        raise Http404("What this study should start as is not there.")
    carried = {"study": start.study, "text": start.text, "like": start.like}
    kinds = {"fields": editor_fields(), "apps": app_options(), "block": default_study()["blocks"][0]}
    return render(request, "pages/editor.html", {"kinds": kinds, "start": start, "carried": carried})


def find_start(data: Mapping[str, Any]) -> Start | None:
    """The study (`from`), the run (`run`) or the app (`app`) that a new one starts as; None where it is gone."""
    if "app" in data:
        return start_from_app(str(data["app"]))
    if "run" in data:
        run = Run.objects.filter(pk=whole_number(str(data["run"]), 0)).first()
        return start_from_run(run) if run else None
    study = Study.objects.filter(pk=whole_number(str(data.get("from")), 0)).first()
    return start_from_study(study) if study else None


def json_body(request: HttpRequest) -> dict[str, Any]:
    try:
        data = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def text_field(data: Mapping[str, Any], key: str) -> str | None:
    return value if isinstance(value := data.get(key), str) else None


def requested_start(data: Mapping[str, Any]) -> Start | None:
    like = data.get("like")
    return find_start(like) if isinstance(like, dict) else None


@require_POST
@for_launchers
def study_draft(request: HttpRequest) -> JsonResponse:
    data = json_body(request)
    study, start = data.get("study"), requested_start(data)
    draft_request = DraftRequest(
        study=study if isinstance(study, dict) else None,
        text=text_field(data, "yaml"),
        written=text_field(data, "written"),
        like=start.study if start else None,
        calibrate=data.get("calibrate") is True,
    )
    return JsonResponse(asdict(check_draft(current_user(request), draft_request)))


@require_POST
@for_launchers
def study_preview(request: HttpRequest) -> HttpResponse:
    data = json_body(request)
    page = data.get("page")
    try:
        definition = parse_definition({"name": "", **requested_study(data)})
        with planning_turn(current_user(request).pk, definition.blocks):
            preview = preview_runs(definition, page if isinstance(page, int) else 1)
    except TributaryError as error:
        return render(request, "parts/editor_preview.html", {"problems": error_list(error)})
    return render(request, "parts/editor_preview.html", {"preview": preview})


def requested_study(data: Mapping[str, Any]) -> Mapping[str, Any]:
    text, study = text_field(data, "yaml"), data.get("study")
    if text is not None:
        return study_from_yaml(text)
    return study if isinstance(study, dict) else {}


@require_POST
@for_launchers
def launch_study(request: HttpRequest) -> JsonResponse:
    """The study as data, with the text it was written as; or the text alone."""
    data = json_body(request)
    try:
        written = data.get("study")
        study = written if written is not None or "yaml" not in data else study_from_yaml(str(data["yaml"]))
        definition = parse_definition(study)
        source = rewrite_yaml(text_field(data, "yaml") or "", study) if isinstance(study, dict) else ""
        start = requested_start(data)
        launched = definition_launch(
            owner=current_user(request), definition=definition, source=source, parent=start.parent if start else None
        )
    except TributaryError as error:
        status = 403 if isinstance(error, NotAllowedError) else 422
        return JsonResponse({"detail": error.detail, "errors": error_list(error)}, status=status)
    return JsonResponse({"url": reverse("study", args=[launched.pk])}, status=201)


def study_yaml(request: HttpRequest, pk: int) -> HttpResponse:
    """The study's definition as a file, as it was written."""
    study = get_object_or_404(Study, pk=pk)
    fields = {name: getattr(study, name) for name in ("name", "description", "tags", "blocks")}
    name = {"Content-Disposition": f'attachment; filename="study-{study.pk}.yaml"'}
    return HttpResponse(study.source or yaml_from_study(fields), content_type="application/yaml", headers=name)
