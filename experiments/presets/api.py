"""Published studies: what they are, launching them, and their numbers beside the measured ones."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Path, Query, Router, Status

from experiments.api.auth import person
from experiments.api.schemas import Id, refusals
from experiments.models import Study
from experiments.presets.comparison import Row
from experiments.presets.preset import Preset, ScaleName, presets
from experiments.presets.schemas import PresetAnswer, PresetComparison, PresetDetail, PresetLaunch
from experiments.presets.selectors import absent_data, comparison, data_of, launches_of, runs_as_published
from experiments.presets.services import preset_launch
from experiments.studies.schemas import StudyDetail, study_answers

router = Router(tags=["presets"])
Name = Annotated[str, Path(max_length=100, description="A preset's name.", examples=["iaisy-2024"])]
Measured = Annotated[
    Id | None, Query(None, description="Which study; the newest launch of the preset otherwise.", examples=[7])
]


def found(name: str) -> Preset:
    if name not in presets():
        raise Http404
    return presets()[name]


@router.get("", response={200: list[PresetAnswer], **refusals()}, summary="Published studies")
def list_presets(request: HttpRequest) -> Any:
    """Each can be launched as it was published, or in minutes."""
    return [preset_answer(preset) for preset in presets().values()]


@router.get("/{name}", response={200: PresetDetail, **refusals(404)}, summary="One published study")
def one_preset(request: HttpRequest, name: Name) -> Any:
    """What it asked and found, where it is unclear, and its grids."""
    preset = found(name)
    return {
        **preset_answer(preset),
        **preset.model_dump(include={"asked", "found", "differences"}),
        "scales": {scale: scale_answer(preset, scale) for scale in preset.scales},
        "studies": [study.pk for study in launches_of(preset)],
    }


@router.post("/{name}/launch", response={201: StudyDetail, **refusals(403, 404, 409, 413)}, summary="Launch it")
def launch(request: HttpRequest, name: Name, wanted: PresetLaunch) -> Any:
    """As much of it as the data are here for; the study's description says what was left out."""
    study = preset_launch(owner=person(request), preset=found(name), scale=wanted.scale)
    return Status(201, study_answers([study])[0])


@router.get("/{name}/comparison", response={200: PresetComparison, **refusals(404)}, summary="Published and measured")
def compared(request: HttpRequest, name: Name, study: Measured) -> Any:
    """Number by number. Any study that has such cells can be compared, not only launches of the preset."""
    preset = found(name)
    measured = get_object_or_404(Study, pk=study) if study else next(iter(launches_of(preset)), None)
    if measured is None:
        raise Http404
    rows = comparison(preset=preset, study=measured)
    return {
        "preset": name,
        "study": measured.pk,
        "compared": sum(row.mean is not None for row in rows),
        "rows": [row_answer(row) for row in rows],
    }


def preset_answer(preset: Preset) -> dict[str, Any]:
    names = data_of(preset.scales["full"].blocks)
    absent = absent_data(names)
    return {
        **preset.model_dump(include={"name", "title", "source"}),
        "datasets": [{"name": name, "ready": name not in absent} for name in names],
        "published": len(preset.published),
    }


def scale_answer(preset: Preset, scale: ScaleName) -> dict[str, Any]:
    return {**preset.scales[scale].model_dump(), "runs": runs_as_published(preset, scale)}


def row_answer(row: Row) -> dict[str, Any]:
    published = row.published
    return {
        **published.model_dump(include={"match", "reading", "unit", "approximate", "note"}),
        "published": published.value,
        "published_std": published.std,
        **{name: getattr(row, name) for name in ("mean", "low", "high", "n", "difference", "inside", "reason")},
    }
