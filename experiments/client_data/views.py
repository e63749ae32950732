"""What clients hold: as JSON for the editor, a study and a run, and their sample pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiments.client_data.charts import (
    client_name,
    portrait_description,
    portrait_facts,
    portrait_figure,
    portrait_notes,
)
from experiments.client_data.selectors import portrait_of
from experiments.core.errors import ConflictError
from experiments.datasets.selectors import not_here
from experiments.labels.axes import COMPONENTS, axis_title, axis_values
from experiments.models import Run, Study
from workers.catalog import load_catalog
from workers.client_data.description import Portrait
from workers.client_data.holdings import choices, holding_spec, relevant
from workers.client_data.store import kept_pictures, key_of
from workers.errors import TributaryError
from workers.spec import RunSpec

LATER = "private, max-age=31536000, immutable"
NOTHING_VALID = "The picture appears when the study has no problems in its data set, partition and clients."


@require_POST
def draft_portrait(request: HttpRequest) -> JsonResponse:
    """For blocks as they are being written; `of` chooses among the different federations they describe."""
    try:
        asked = json.loads(request.body)
        blocks, chosen = asked.get("blocks"), asked.get("of")
    except (ValueError, AttributeError, RecursionError):
        blocks, chosen = None, None
    return answer(choices(blocks), chosen)


def study_portrait(request: HttpRequest, pk: int) -> JsonResponse:
    study = get_object_or_404(Study, pk=pk)
    return answer(choices(study.blocks), request.GET.get("of"))


def run_portrait(request: HttpRequest, pk: int) -> JsonResponse:
    run = get_object_or_404(Run, pk=pk)
    try:
        return answer([holding_spec(run.spec)], None)
    except TributaryError as error:
        return JsonResponse({"problem": str(error), "options": []})


def answer(specs: Sequence[RunSpec], chosen: Any) -> JsonResponse:
    if not specs:
        return JsonResponse({"problem": NOTHING_VALID, "options": []})
    axes = telling_axes(specs)
    named = dict(zip(titles(specs, axes), specs, strict=True))
    title = chosen if chosen in named else next(iter(named))
    options = {"options": list(named), "chosen": title, "axes": axes}
    try:
        return JsonResponse({**options, **drawn(named[title])})
    except TributaryError as error:
        return JsonResponse({**options, "problem": str(error)})


def federations(blocks: Any) -> list[str]:
    """The names of the different federations, as `of` takes them."""
    specs = choices(blocks)
    return titles(specs, telling_axes(specs))


def drawn(spec: RunSpec) -> dict[str, Any]:
    if load_catalog().datasets[spec.dataset.name].available(spec.dataset):
        raise ConflictError(not_here(spec.dataset.name))
    portrait = portrait_of(spec)
    return {
        "figure": portrait_figure(portrait),
        "description": portrait_description(portrait),
        "notes": portrait_notes(portrait),
        "facts": [asdict(fact) for fact in portrait_facts(portrait)],
        "warnings": list(portrait.warnings),
        "pictures": pictures_of(spec, portrait),
    }


def pictures_of(spec: RunSpec, portrait: Portrait) -> dict[str, Any] | None:
    if not portrait.pictured:
        return None
    noise = f", with their noise (sigma {spec.feature_noise:g})" if spec.feature_noise else ""
    return {
        "url": reverse("portrait-pictures", args=[key_of(spec)]),
        "rows": [client_name(client) for client in portrait.pictured],
        "words": f"Samples of some clients{noise}",
    }


def telling_axes(specs: Sequence[RunSpec]) -> dict[str, list[str]]:
    """What varies between the federations, with its value in words for each; empty where that is not enough."""
    cells = {str(place): relevant(spec) for place, spec in enumerate(specs)}
    axes = axis_values(cells)
    axes.pop("seed", None)
    rows = list(zip(*(words.values() for words in axes.values()), strict=True))
    if len(set(rows)) < len(specs):
        return {}
    titled = {axis_title(axis): words for axis, words in axes.items()}
    return {title: [word.removeprefix(f"{title} ") for word in words.values()] for title, words in titled.items()}


def titles(specs: Sequence[RunSpec], axes: dict[str, list[str]]) -> list[str]:
    """What tells the federations apart, or the partition's name where there is only one."""
    if not axes:
        return [numbered(place, specs) for place in range(len(specs))]
    named = {axis_title(component) for component in COMPONENTS}
    words = [values if title in named else [f"{title} {value}" for value in values] for title, values in axes.items()]
    return [" · ".join(each) for each in zip(*words, strict=True)]


def numbered(place: int, specs: Sequence[RunSpec]) -> str:
    name = specs[place].partition.name
    return name if len(specs) == 1 else f"{place + 1}: {name}"


def portrait_pictures(request: HttpRequest, key: str) -> HttpResponse:
    found = kept_pictures(key) if len(key) == 64 and key.isalnum() else None
    if found is None:
        raise Http404
    return HttpResponse(found, content_type="image/png", headers={"Cache-Control": LATER})
