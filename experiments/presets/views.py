"""Published studies: what they asked and found, launching them, their numbers beside the measured ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from experiments.compare.charts.values import lost_text
from experiments.compare.views.displays import displays_context
from experiments.models import Study
from experiments.presets import wording
from experiments.presets.claims import ClaimResult, Outcome
from experiments.presets.comparison import ComparisonRow
from experiments.presets.preset import Preset, Scale, ScaleName, presets
from experiments.presets.selectors import (
    LaunchablePart,
    PresetResults,
    absent_datasets,
    block_datasets,
    count_published_runs,
    launchable_part,
    preset_launches,
    preset_or_404,
    preset_results,
)
from experiments.presets.services import preset_launch, preset_plan
from experiments.presets.verdicts import Verdict, count_verdicts, judge_row, stored_counts
from experiments.studies.services.launch import Plan
from experiments.web.requests import current_user, whole_number
from workers.catalog import load_catalog
from workers.catalog.component import Dataset
from workers.errors import TributaryError

STUDIES_SHOWN = 20


@dataclass(frozen=True)
class PresetDataset:
    dataset: Dataset
    ready: bool


@dataclass(frozen=True)
class ScaleCard:
    """A scale as it can be launched now: `plan` is None where none of its data are here."""

    name: ScaleName
    scale: Scale
    runs: int
    found: LaunchablePart
    plan: Plan | None
    refusal: str = ""


@dataclass(frozen=True)
class ComparisonLine:
    """One row of the comparison in words."""

    about: str
    what: str
    printed: str
    unit: str
    measured: str
    n: int
    lost: str
    difference: str
    inside: bool | None
    verdict: Verdict
    why: str
    fitted: bool
    repeated: bool


def preset_list(request: HttpRequest) -> HttpResponse:
    cards = [
        (preset, preset_datasets(preset), len(preset_launches(preset)), stored_counts(preset))
        for preset in presets().values()
    ]
    return render(request, "pages/presets.html", {"cards": cards})


def preset_page(request: HttpRequest, name: str) -> HttpResponse:
    preset = preset_or_404(name)
    launches = preset_launches(preset)
    study = find_measured_study(request, launches)
    results = preset_results(preset=preset, study=study) if study and preset.published else PresetResults([], [])
    rows = results.rows
    context: dict[str, Any] = {
        "preset": preset,
        "data": preset_datasets(preset),
        "scales": [scale_card(request, preset, scale) for scale in ("quick", "full")],
        "launches": launches[:STUDIES_SHOWN],
        "study": study,
        "lines": [comparison_line(preset, row) for row in rows if row.mean is not None],
        "stored_counts": stored_counts(preset),
        "counts": count_verdicts(preset, rows) if rows else None,
        "claims": [claim_line(each) for each in results.claims],
        "not_compared": Counter(row.reason for row in rows if row.mean is None).most_common(),
        "inside": sum(row.inside is True for row in rows),
        "with_interval": sum(row.inside is not None for row in rows),
    }
    if study:
        context |= displays_context(request, study, preset, own=True)
    return render(request, "pages/preset.html", context)


@require_POST
def preset_launch_action(request: HttpRequest, name: str) -> HttpResponse:
    preset, scale = preset_or_404(name), request.POST.get("scale", "")
    if scale not in preset.scales:
        raise Http404
    try:
        study = preset_launch(owner=current_user(request), preset=preset, scale=scale)  # type: ignore[arg-type]
    except TributaryError as error:
        messages.error(request, str(error))
        return redirect("preset", name)
    return redirect("study", study.pk)


def find_measured_study(request: HttpRequest, launches: Sequence[Study]) -> Study | None:
    """The one in the address, whatever it was launched from; otherwise the newest launch."""
    if pk := whole_number(request.GET.get("study"), 0):
        return get_object_or_404(Study.objects.select_related("owner"), pk=pk)
    return next(iter(launches), None)


def preset_datasets(preset: Preset) -> list[PresetDataset]:
    names = block_datasets(preset.scales["full"].blocks)
    absent = absent_datasets(names)
    return [PresetDataset(load_catalog().datasets[name], name not in absent) for name in names]


def scale_card(request: HttpRequest, preset: Preset, name: Any) -> ScaleCard:
    part = launchable_part(preset, name)
    card = ScaleCard(name, preset.scales[name], count_published_runs(preset, name), part, None)
    if not current_user(request).may_launch:
        return card
    try:
        plan = preset_plan(owner=current_user(request), preset=preset, scale=name)
    except TributaryError as error:
        return replace(card, refusal=str(error))
    return replace(card, plan=plan)


@dataclass(frozen=True)
class ClaimLine:
    text: str
    outcome: Outcome
    words: str


def claim_line(result: ClaimResult) -> ClaimLine:
    return ClaimLine(result.claim.text, result.outcome, wording.claim_text(result))


def comparison_line(preset: Preset, row: ComparisonRow) -> ComparisonLine:
    published, judgement = row.published, judge_row(preset, row)
    difference = "–" if row.difference is None else f"{row.difference:+.2f}"
    return ComparisonLine(
        wording.match_text(published.match),
        wording.quantity_text(published),
        wording.published_text(published),
        wording.unit_text(published),
        wording.measured_text(row),
        row.n,
        lost_text(row.lost, row.missed),
        difference,
        row.inside,
        judgement.verdict,
        judgement.why,
        published.fitted,
        published.repeated,
    )
