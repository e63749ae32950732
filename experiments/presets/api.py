"""Published studies: what they are, launching them, and their numbers beside the measured ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Path, Query, Router, Status

from experiments.api.schemas import Id, error_responses
from experiments.core.json_values import json_safe
from experiments.models import Study
from experiments.presets.claims import ClaimResult
from experiments.presets.comparison import ComparisonRow
from experiments.presets.preset import Preset, ScaleName, presets
from experiments.presets.schemas import PresetAnswer, PresetComparison, PresetDetail, PresetLaunch
from experiments.presets.selectors import (
    absent_datasets,
    block_datasets,
    count_published_runs,
    preset_launches,
    preset_or_404,
    preset_results,
)
from experiments.presets.services import preset_launch
from experiments.presets.verdicts import count_verdicts, judge_row, stored_counts
from experiments.studies.schemas import StudyDetail, study_answers
from experiments.web.requests import current_user

router = Router(tags=["presets"])
MEASURED = ("mean", "low", "high", "n", "lost", "missed", "difference", "inside", "reason")
PresetName = Annotated[str, Path(max_length=100, description="A preset's name.", examples=["iaisy-2024"])]
MeasuredStudy = Annotated[
    Id | None, Query(None, description="Which study; the newest launch of the preset otherwise.", examples=[7])
]


@router.get("", response={200: list[PresetAnswer], **error_responses()}, summary="Published studies")
def list_presets(request: HttpRequest) -> Any:
    """Each can be launched as it was published, or in minutes."""
    return [preset_answer(preset) for preset in presets().values()]


@router.get("/{name}", response={200: PresetDetail, **error_responses(404)}, summary="One published study")
def one_preset(request: HttpRequest, name: PresetName) -> Any:
    """What it asked and found, where it is unclear, and its grids."""
    preset = preset_or_404(name)
    return {
        **preset_answer(preset),
        **preset.model_dump(include={"asked", "found", "differences", "settings"}),
        "scales": {scale: scale_answer(preset, scale) for scale in preset.scales},
        "studies": [study.pk for study in preset_launches(preset)],
    }


@router.post(
    "/{name}/launch",
    response={201: StudyDetail, **error_responses(403, 404, 409, 413)},
    summary="Launch it",
    operation_id="presets_launch",
    url_name="launch",
)
def launch_preset(request: HttpRequest, name: PresetName, body: PresetLaunch) -> Any:
    """As much of it as the data are here for; the study's description says what was left out."""
    study = preset_launch(owner=current_user(request), preset=preset_or_404(name), scale=body.scale)
    return Status(201, study_answers([study])[0])


@router.get(
    "/{name}/comparison",
    response={200: PresetComparison, **error_responses(404)},
    summary="Published and measured",
    operation_id="presets_compared",
    url_name="compared",
)
def compare_preset(request: HttpRequest, name: PresetName, study: MeasuredStudy) -> Any:
    """Number by number. Any study that has such cells can be compared, not only launches of the preset."""
    preset = preset_or_404(name)
    measured = get_object_or_404(Study, pk=study) if study else next(iter(preset_launches(preset)), None)
    if measured is None:
        raise Http404
    results = preset_results(preset=preset, study=measured)
    rows = results.rows
    return {
        "preset": name,
        "study": measured.pk,
        "compared": sum(row.mean is not None for row in rows),
        "verdicts": asdict(count_verdicts(preset, rows)),
        "claims": [claim_answer(each) for each in results.claims],
        "rows": [comparison_answer(preset, row) for row in rows],
    }


def preset_answer(preset: Preset) -> dict[str, Any]:
    names = block_datasets(preset.scales["full"].blocks)
    absent = absent_datasets(names)
    return {
        **preset.model_dump(include={"name", "title", "source"}),
        "datasets": [{"name": name, "ready": name not in absent} for name in names],
        "published": len(preset.published),
        "verdicts": asdict(counts) if (counts := stored_counts(preset)) else None,
    }


def scale_answer(preset: Preset, scale: ScaleName) -> dict[str, Any]:
    return {**preset.scales[scale].model_dump(), "runs": count_published_runs(preset, scale)}


def claim_answer(result: ClaimResult) -> dict[str, Any]:
    values = {name: getattr(result, name) for name in ("outcome", "p", "n", "comparisons", "reason")}
    return {"text": result.claim.text, **json_safe(values)}


def comparison_answer(preset: Preset, row: ComparisonRow) -> dict[str, Any]:
    published, judgement = row.published, judge_row(preset, row)
    return {
        **published.model_dump(include={"match", "reading", "unit", "approximate", "note", "fitted", "repeated"}),
        "verdict": judgement.verdict,
        "why": judgement.why,
        "published": published.value,
        "published_std": published.std,
        **json_safe({name: getattr(row, name) for name in MEASURED}),
    }
