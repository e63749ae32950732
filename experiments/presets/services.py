"""Launching a published study: its grid as far as the data are here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.access.services.rights import require_launch
from experiments.datasets.selectors import names_in, not_here
from experiments.models import Study, User
from experiments.presets.preset import Preset, ScaleName
from experiments.studies.services.launch import Plan, study_launch, study_plan
from workers.catalog import load_catalog
from workers.errors import Problem, SpecError
from workers.spec import expand
from workers.spec.grid import count_runs

Block = Mapping[str, Any]


@dataclass(frozen=True)
class Launchable:
    """A scale as far as it can be run here; `left_out` says what else it has, and why not."""

    blocks: list[dict[str, Any]]
    left_out: list[str]


def origin_of(preset: Preset, scale: ScaleName) -> str:
    return f"{preset.name}:{scale}"


def absent_data(names: Sequence[str]) -> list[str]:
    datasets = load_catalog().datasets
    return [name for name in names if datasets[name].available(datasets[name].Params())]


def data_of(blocks: Sequence[Block]) -> list[str]:
    """The names of all data sets, each once, in the order written."""
    return list(dict.fromkeys(name for block in blocks for name in names_in(block["dataset"])))


def launchable(preset: Preset, scale: ScaleName) -> Launchable:
    """Without the data sets that are not here, and without blocks that what is here of their data cannot fill."""
    blocks = preset.scales[scale].blocks
    absent = absent_data(data_of(blocks))
    kept = [(block, without(block["dataset"], absent)) for block in blocks]
    here, left_out = [], [not_here(name) for name in absent]
    for block in [{**block, "dataset": left} for block, left in kept if left]:
        if reasons := refusals(block):
            left_out += reasons
        else:
            here.append(block)
    return Launchable(here, list(dict.fromkeys(left_out)))


def refusals(block: Block) -> list[str]:
    try:
        expand([block])
    except SpecError as error:
        return [problem.message for problem in error.errors]
    return []


def runs_as_published(preset: Preset, scale: ScaleName) -> int:
    """Runs of the whole scale, whatever data are here; equal ones of several blocks count once where that shows."""
    blocks = preset.scales[scale].blocks
    try:
        return len(expand(blocks).runs)
    except SpecError:
        return sum(count_runs(block) for block in blocks)


def without(value: Any, absent: Sequence[str]) -> Any:
    """A data set field less the absent names: falsy where nothing is left of it."""
    if isinstance(value, Mapping):
        names = without(value["name"], absent)
        return {**value, "name": names} if names else None
    if isinstance(value, list | tuple):
        return [left for each in value if (left := without(each, absent))]
    return None if value in absent else value


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
