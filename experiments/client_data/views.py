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

from experiments.charts.chart import plotly_figure
from experiments.client_data.charts import (
    client_distribution_description,
    client_distribution_facts,
    client_distribution_figure,
    client_distribution_notes,
    client_name,
)
from experiments.client_data.selectors import run_federation
from experiments.client_data.services import distribution_or_request
from experiments.core.errors import ConflictError, PendingError
from experiments.datasets.selectors import missing_data_text
from experiments.labels.axes import Wording, axis_values
from experiments.labels.names import axis_title, component_name
from experiments.models import Run, Study
from experiments.web.requests import for_launchers
from workers.catalog import load_catalog
from workers.client_data.assignment import distinct_federations, federation_fields
from workers.client_data.distribution import ClientDistribution
from workers.client_data.store import distribution_key, read_pictures
from workers.errors import TributaryError
from workers.spec import RunSpec

CACHE_FOREVER = "private, max-age=31536000, immutable"
NOTHING_VALID = "The picture appears when the study has no problems in its data set, partition and clients."


@require_POST
@for_launchers
def draft_client_data(request: HttpRequest) -> JsonResponse:
    """For blocks as they are being written; `of` chooses among the different federations they describe."""
    try:
        body = json.loads(request.body)
        blocks, selected_title = body.get("blocks"), body.get("of")
    except (ValueError, AttributeError, RecursionError):
        blocks, selected_title = None, None
    return client_data_response(distinct_federations(blocks), selected_title)


def study_client_data(request: HttpRequest, pk: int) -> JsonResponse:
    study = get_object_or_404(Study, pk=pk)
    return client_data_response(distinct_federations(study.blocks), request.GET.get("of"))


def run_client_data(request: HttpRequest, pk: int) -> JsonResponse:
    run = get_object_or_404(Run, pk=pk)
    try:
        return client_data_response([run_federation(run.spec, run.launch_sources)], None)
    except TributaryError as error:
        return JsonResponse({"problem": str(error), "options": []})


def client_data_response(specs: Sequence[RunSpec], selected_title: Any) -> JsonResponse:
    if not specs:
        return JsonResponse({"problem": NOTHING_VALID, "options": []})
    axes = varying_axes(specs)
    specs_by_title = dict(zip(name_federations(specs), specs, strict=True))
    title = selected_title if selected_title in specs_by_title else next(iter(specs_by_title))
    options = {"options": list(specs_by_title), "chosen": title, "axes": axes}
    try:
        return JsonResponse({**options, **client_data_values(specs_by_title[title])})
    except PendingError as error:
        return JsonResponse({**options, "pending": error.detail})
    except TributaryError as error:
        return JsonResponse({**options, "problem": str(error)})


def federation_names(blocks: Any) -> list[str]:
    """The names of the different federations, as `of` takes them."""
    specs = distinct_federations(blocks)
    return name_federations(specs)


def client_data_values(spec: RunSpec) -> dict[str, Any]:
    if load_catalog().datasets[spec.dataset.name].available(spec.dataset):
        raise ConflictError(missing_data_text(spec.dataset.name))
    distribution = distribution_or_request(spec)
    return {
        "figure": plotly_figure(client_distribution_figure(distribution)),
        "description": client_distribution_description(distribution),
        "notes": client_distribution_notes(distribution),
        "facts": [asdict(fact) for fact in client_distribution_facts(distribution)],
        "warnings": list(distribution.warnings),
        "pictures": sample_pictures(spec, distribution),
    }


def sample_pictures(spec: RunSpec, distribution: ClientDistribution) -> dict[str, Any] | None:
    if not distribution.pictured:
        return None
    kind = " as a standard deviation" if spec.feature_noise_kind == "deviation" else ""
    noise = f", with their noise (sigma {spec.feature_noise:g}{kind})" if spec.feature_noise else ""
    return {
        "url": reverse("portrait-pictures", args=[distribution_key(spec)]),
        "rows": [client_name(client) for client in distribution.pictured],
        "words": f"Samples of some clients{noise}",
    }


def varying_axes(specs: Sequence[RunSpec], wording: Wording = "column") -> dict[str, list[str]]:
    """What varies between the federations, with its value in words for each; empty where that is not enough."""
    cells = {str(place): federation_fields(spec) for place, spec in enumerate(specs)}
    axes = axis_values(cells, wording=wording)
    axes.pop("seed", None)
    rows = list(zip(*(words.values() for words in axes.values()), strict=True))
    if len(set(rows)) < len(specs):
        return {}
    return {axis_title(axis): list(words.values()) for axis, words in axes.items()}


def name_federations(specs: Sequence[RunSpec]) -> list[str]:
    """What tells the federations apart, or the partition's name where there is only one."""
    if axes := varying_axes(specs, "name"):
        return [" · ".join(each) for each in zip(*axes.values(), strict=True)]
    return [numbered_name(place, specs) for place in range(len(specs))]


def numbered_name(place: int, specs: Sequence[RunSpec]) -> str:
    name = component_name("partition", specs[place].partition.name)
    return name if len(specs) == 1 else f"{place + 1}: {name}"


def sample_pictures_file(request: HttpRequest, key: str) -> HttpResponse:
    picture = read_pictures(key) if len(key) == 64 and key.isalnum() else None
    if picture is None:
        raise Http404
    return HttpResponse(picture, content_type="image/png", headers={"Cache-Control": CACHE_FOREVER})
