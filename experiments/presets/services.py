"""Launching a published study: its grid as far as the data are here."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.access.services.rights import require_launch
from experiments.models import Study, User
from experiments.presets.preset import Preset, ScaleName
from experiments.presets.selectors import launchable_part
from experiments.studies.services.launch import Plan, study_launch, study_plan
from workers.errors import Problem, SpecError


def preset_origin(preset: Preset, scale: ScaleName) -> str:
    return f"{preset.name}:{scale}"


def preset_plan(*, owner: User, preset: Preset, scale: ScaleName) -> Plan | None:
    """None where none of its data are here."""
    blocks = launchable_part(preset, scale).blocks
    return study_plan(owner=owner, blocks=blocks) if blocks else None


def preset_launch(*, owner: User, preset: Preset, scale: ScaleName) -> Study:
    """All of the scale whose data are here; equal runs that exist become members, as in every launch."""
    require_launch(owner)
    part = launchable_part(preset, scale)
    if not part.blocks:
        raise SpecError([Problem("dataset", reason) for reason in part.left_out])
    return study_launch(
        owner=owner,
        name=f"{preset.title} ({scale})",
        description=launch_description(preset, scale, part.left_out),
        tags=["preset", preset.name],
        blocks=part.blocks,
        origin=preset_origin(preset, scale),
    )


def launch_description(preset: Preset, scale: ScaleName, left_out: Sequence[str]) -> str:
    parts = [f"{preset.source}. Scale {scale}: {preset.scales[scale].note}"]
    if left_out:
        parts.append(f"Left out: {' '.join(left_out)}")
    return "\n\n".join(parts)
