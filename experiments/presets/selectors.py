"""Published studies as pages and REST show them: their data, their launches, published beside measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.http import Http404

from experiments.datasets.selectors import dataset_names, missing_data_text
from experiments.models import Run, RunState, Study
from experiments.presets.claims import ClaimResult, claim_results
from experiments.presets.comparison import CellFinder, ComparisonRow, MeasuredCell, compare_with_published
from experiments.presets.preset import CurveReading, Preset, ScaleName, presets
from experiments.presets.readings import BYTES, DETECTORS, Curves, CurvesBySeed
from experiments.statistics.over_seeds import with_missing_seeds
from workers.catalog import load_catalog
from workers.errors import SpecError
from workers.spec import expand, is_app
from workers.spec.grid import count_runs

CURVES = """
    SELECT run_id, name, round, value FROM experiments_metric
    WHERE run_id = ANY(%(runs)s) AND (name = ANY(%(names)s) OR name LIKE ANY(%(patterns)s))
    ORDER BY run_id, name, round
"""


def preset_or_404(name: str) -> Preset:
    if name not in presets():
        raise Http404
    return presets()[name]


def preset_launches(preset: Preset) -> list[Study]:
    """Studies that were launched from it, the newest first."""
    studies = Study.objects.filter(origin__startswith=f"{preset.name}:").select_related("owner")
    return list(studies.order_by("-pk"))


def study_preset(study: Study) -> Preset | None:
    """The preset that it was launched from, or that one of its tags names."""
    names = [study.origin.partition(":")[0], *study.tags]
    return next((presets()[name] for name in names if name in presets()), None)


def full_specs(preset: Preset) -> list[dict[str, Any]]:
    """One resolved spec for each cell of the full scale, as far as the data here can fill it."""
    blocks = [{**block, "seeds": 1} for block in launchable_part(preset, "full").blocks]
    runs = expand(blocks).runs if blocks else ()
    return [spec.model_dump(mode="json") for spec in {run.cell: run.spec for run in runs}.values()]


@dataclass(frozen=True)
class PresetResults:
    """Every printed number beside what was measured, and every claim with its test."""

    rows: list[ComparisonRow]
    claims: list[ClaimResult]


def preset_results(*, preset: Preset, study: Study) -> PresetResults:
    cells = measured_cells(study, preset_metrics(preset))
    finder = CellFinder(cells, full_specs(preset), why_absent)
    return PresetResults(compare_with_published(preset, finder), claim_results(preset, finder))


def why_absent(match: Mapping[str, Any]) -> str | None:
    name = match.get("dataset", {}).get("name")
    return missing_data_text(name) if name and absent_datasets([name]) else None


def preset_metrics(preset: Preset) -> list[str]:
    readings = [*(each.reading for each in preset.published), *(each.reading for each in preset.claims)]
    metrics = [reading.metric for reading in readings if isinstance(reading, CurveReading)]
    return list(dict.fromkeys([*metrics, "accuracy", *BYTES, DETECTORS]))


def measured_cells(study: Study, metrics: Iterable[str]) -> list[MeasuredCell]:
    """All cells of the study in the order of its grid; only finished runs have curves."""
    rows = Run.objects.filter(studies=study).order_by("memberships__position")
    runs = list(rows.values("pk", "cell", "seed", "spec", "state"))
    curves = read_run_curves([run["pk"] for run in runs if run["state"] == RunState.DONE], list(metrics))
    members: dict[str, list[tuple[int, int, str]]] = {}
    for run in runs:
        members.setdefault(run["cell"], []).append((run["pk"], run["seed"], run["state"]))
    specs = {run["cell"]: run["spec"] for run in runs}
    return [MeasuredCell(specs[cell], curves_by_seed(each, curves)) for cell, each in members.items()]


def curves_by_seed(runs: Sequence[tuple[int, int, str]], curves: Mapping[int, Curves]) -> CurvesBySeed:
    """Of one cell's runs, each with its seed and state: all curves of each seed, none for one that is missing."""
    seeds: dict[int, list[Curves]] = {}
    for run, seed, _ in runs:
        if run in curves:
            seeds.setdefault(seed, []).append(curves[run])
    return with_missing_seeds(seeds, [(seed, state) for _, seed, state in runs])


def read_run_curves(runs: list[int], metrics: list[str]) -> dict[int, dict[str, dict[int, float]]]:
    names = [name for name in metrics if not name.endswith("*")]
    patterns = [name[:-1].replace("_", r"\_") + "%" for name in metrics if name.endswith("*")]
    curves: dict[int, dict[str, dict[int, float]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(CURVES, {"runs": runs, "names": names, "patterns": patterns})
        for run, name, number, value in cursor.fetchall():
            curves.setdefault(run, {}).setdefault(name, {})[number] = value
    return curves


Block = Mapping[str, Any]


@dataclass(frozen=True)
class LaunchablePart:
    """A scale as far as it can be run here; `left_out` says what else it has, and why not."""

    blocks: list[dict[str, Any]]
    left_out: list[str]


def absent_datasets(names: Sequence[str]) -> list[str]:
    datasets = load_catalog().datasets
    return [name for name in names if datasets[name].available(datasets[name].Params())]


def block_datasets(blocks: Sequence[Block]) -> list[str]:
    """The names of all data sets, each once, in the order written."""
    return list(dict.fromkeys(name for block in blocks for name in dataset_names(block.get("dataset"))))


def launchable_part(preset: Preset, scale: ScaleName) -> LaunchablePart:
    """Without the data sets that are not here, and without blocks that what is here of their data cannot fill."""
    blocks = preset.scales[scale].blocks
    absent = absent_datasets(block_datasets(blocks))
    here, left_out = [], [missing_data_text(name) for name in absent]
    for block in filter(None, (block_without_datasets(block, absent) for block in blocks)):
        if reasons := block_problems(block):
            left_out += reasons
        else:
            here.append(block)
    return LaunchablePart(here, list(dict.fromkeys(left_out)))


def block_problems(block: Block) -> list[str]:
    try:
        expand([block])
    except SpecError as error:
        return [problem.message for problem in error.errors]
    return []


def count_published_runs(preset: Preset, scale: ScaleName) -> int:
    """Runs of the whole scale, whatever data are here; equal ones of several blocks count once where that shows."""
    blocks = preset.scales[scale].blocks
    try:
        return len(expand(blocks).runs)
    except SpecError:
        return sum(count_runs(block) for block in blocks)


def block_without_datasets(block: Block, absent: Sequence[str]) -> dict[str, Any] | None:
    """None where nothing is left of its data; a block of an app brings its own."""
    if is_app(block):
        return dict(block)
    dataset = without_datasets(block["dataset"], absent)
    return {**block, "dataset": dataset} if dataset else None


def without_datasets(value: Any, absent: Sequence[str]) -> Any:
    """A data set field less the absent names: falsy where nothing is left of it."""
    if isinstance(value, Mapping):
        names = without_datasets(value["name"], absent)
        return {**value, "name": names} if names else None
    if isinstance(value, list | tuple):
        return [remaining for each in value if (remaining := without_datasets(each, absent))]
    return None if value in absent else value
