"""Launching a published study: its grid as far as the data are here."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.access.services.rights import require_launch
from experiments.models import Study, User
from experiments.presets.preset import Preset, ScaleName
from experiments.presets.selectors import launchable
from experiments.studies.services.launch import Plan, study_launch, study_plan
from workers.errors import Problem, SpecError


def origin_of(preset: Preset, scale: ScaleName) -> str:
    return f"{preset.name}:{scale}"


def preset_plan(*, owner: User, preset: Preset, scale: ScaleName) -> Plan | None:
    """None where none of its data are here."""
    blocks = launchable(preset, scale).blocks
    return study_plan(owner=owner, blocks=blocks) if blocks else None


def preset_launch(*, owner: User, preset: Preset, scale: ScaleName) -> Study:
    """All of the scale whose data are here; equal runs that exist become members, as in every launch."""
    require_launch(owner)
    found = launchable(preset, scale)
    if not found.blocks:
        raise SpecError([Problem("dataset", reason) for reason in found.left_out])
    return study_launch(
        owner=owner,
        name=f"{preset.title} ({scale})",
        description=description(preset, scale, found.left_out),
        tags=["preset", preset.name],
        blocks=found.blocks,
        origin=origin_of(preset, scale),
    )


def description(preset: Preset, scale: ScaleName, left_out: Sequence[str]) -> str:
    parts = [f"{preset.source}. Scale {scale}: {preset.scales[scale].note}"]
    if left_out:
        parts.append(f"Left out: {' '.join(left_out)}")
    return "\n\n".join(parts)
