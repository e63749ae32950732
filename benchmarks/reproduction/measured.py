"""Stored runs as the cells that printed numbers are compared with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from experiments.presets.claims import ClaimResult, claim_results
from experiments.presets.comparison import CellFinder, ComparisonRow, MeasuredCell, compare_with_published
from experiments.presets.preset import Preset
from experiments.presets.readings import Curves
from experiments.presets.verdicts import VerdictCounts, count_verdicts
from experiments.stored_runs.files import StoredRun
from workers.spec.grid import value_variants, with_seeds
from workers.spec.runspec import RunSpec, fill_in_validation

NOT_STORED = "No run of such a cell is stored."


@dataclass(frozen=True)
class Reproduction:
    """A study's stored runs, and what they say of its numbers and sentences."""

    preset: Preset
    runs: Sequence[StoredRun]
    cells: Sequence[MeasuredCell]
    rows: Sequence[ComparisonRow]
    claims: Sequence[ClaimResult]

    @property
    def counts(self) -> VerdictCounts:
        return count_verdicts(self.preset, self.rows)


def reproduce(preset: Preset, runs: Sequence[StoredRun]) -> Reproduction:
    cells = stored_cells(runs)
    finder = CellFinder(cells, list(reference_specs(preset)), lambda match: NOT_STORED)
    return Reproduction(preset, runs, cells, compare_with_published(preset, finder), claim_results(preset, finder))


def stored_cells(runs: Sequence[StoredRun]) -> list[MeasuredCell]:
    """A cell for each spec. Of a seed that was computed under several versions of the engine, the newest counts."""
    versions: dict[str, dict[int, int]] = {}
    curves: dict[str, dict[int, list[Curves]]] = {}
    specs: dict[str, Mapping[str, Any]] = {}
    for run in sorted(runs, key=lambda run: -run.engine_version):
        spec = complete_spec(run.spec)
        key = json.dumps({name: spec[name] for name in spec if name not in ("seed", "engine")}, sort_keys=True)
        specs.setdefault(key, spec)
        if versions.setdefault(key, {}).setdefault(run.seed, run.engine_version) == run.engine_version:
            curves.setdefault(key, {}).setdefault(run.seed, []).append(run.curves)
    return [MeasuredCell(specs[key], dict(sorted(seeds.items()))) for key, seeds in sorted(curves.items())]


def complete_spec(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """With the defaults of fields that are younger than the run, so that seeds of one cell stay together; as it is
    where today's schema no longer takes it."""
    try:
        return RunSpec.model_validate(spec).model_dump(mode="json")
    except ValidationError:
        return spec


def reference_specs(preset: Preset) -> Iterator[dict[str, Any]]:
    """The full scale's cells, whatever data are here: only their fields are looked at."""
    for block in preset.scales["full"].blocks:
        for variant in value_variants(with_seeds({**block, "seeds": 1}), "", ""):
            try:
                spec = RunSpec.model_validate(variant.value)
            except ValidationError:
                continue
            yield fill_in_validation(spec).model_dump(mode="json")
