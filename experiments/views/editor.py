"""New study: the form, its running check, and the launch."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.editor.draft import draft, first_study, listed
from experiments.editor.fields import editor_fields
from experiments.editor.order import in_spec_order
from experiments.models import Study
from experiments.services.definition import definition_launch, parse_definition
from experiments.services.errors import NotAllowedError
from experiments.services.rights import require_launch
from experiments.views.parts import whole_number
from experiments.views.people import person
from workers.errors import TributaryError


def new_study(request: HttpRequest) -> HttpResponse:
    try:
        require_launch(person(request))
    except NotAllowedError as error:
        return render(request, "403.html", {"detail": error.detail}, status=403)
    context = {"fields": editor_fields(), "study": in_spec_order(starting_point(request))}
    return render(request, "pages/editor.html", context)


def starting_point(request: HttpRequest) -> dict[str, Any]:
    if "like" not in request.GET:
        return first_study()
    like = get_object_or_404(Study, pk=whole_number(request.GET["like"], 0))
    return {"name": f"{like.name} again", "description": like.description, "tags": like.tags, "blocks": like.blocks}


def body(request: HttpRequest) -> dict[str, Any]:
    try:
        found = json.loads(request.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@require_POST
def study_draft(request: HttpRequest) -> JsonResponse:
    asked = body(request)
    text = asked.get("yaml")
    study = asked.get("study")
    found = draft(
        owner=person(request),
        study=study if isinstance(study, dict) else None,
        text=text if isinstance(text, str) else None,
    )
    return JsonResponse(asdict(found))


@require_POST
def launch(request: HttpRequest) -> JsonResponse:
    try:
        definition = parse_definition(body(request).get("study"))
        study = definition_launch(owner=person(request), definition=definition)
    except TributaryError as error:
        status = 403 if isinstance(error, NotAllowedError) else 422
        return JsonResponse({"detail": error.detail, "errors": listed(error)}, status=status)
    return JsonResponse({"url": reverse("study", args=[study.pk])}, status=201)
