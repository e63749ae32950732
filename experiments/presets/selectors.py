"""Published studies as pages and REST show them: their data, their launches, published beside measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connection

from experiments.datasets.selectors import not_here
from experiments.models import Run, RunState, Study
from experiments.presets.comparison import MeasuredCell, Row, compare
from experiments.presets.preset import OneRun, Preset, presets
from experiments.presets.readings import BYTES, DETECTORS, Curves
from experiments.presets.services import absent_data, launchable
from workers.spec import expand

CURVES = """
    SELECT run_id, name, round, value FROM experiments_metric
    WHERE run_id = ANY(%(runs)s) AND (name = ANY(%(names)s) OR name LIKE ANY(%(patterns)s))
    ORDER BY run_id, name, round
"""


def launches_of(preset: Preset) -> list[Study]:
    """Studies that were launched from it, the newest first."""
    found = Study.objects.filter(origin__startswith=f"{preset.name}:").select_related("owner")
    return list(found.order_by("-pk"))


def preset_of(study: Study) -> Preset | None:
    """The preset that it was launched from, or that one of its tags names."""
    names = [study.origin.partition(":")[0], *study.tags]
    return next((presets()[name] for name in names if name in presets()), None)


def full_specs(preset: Preset) -> list[dict[str, Any]]:
    """One resolved spec for each cell of the full scale, as far as the data here can fill it."""
    blocks = [{**block, "seeds": 1} for block in launchable(preset, "full").blocks]
    runs = expand(blocks).runs if blocks else ()
    return [spec.model_dump(mode="json") for spec in {run.cell: run.spec for run in runs}.values()]


def comparison(*, preset: Preset, study: Study) -> list[Row]:
    return compare(preset, measured_cells(study, metrics_of(preset)), full_specs(preset), why_absent)


def why_absent(match: Mapping[str, Any]) -> str | None:
    name = match.get("dataset", {}).get("name")
    return not_here(name) if name and absent_data([name]) else None


def metrics_of(preset: Preset) -> list[str]:
    readings = [each.reading for each in preset.published]
    named = [reading.metric for reading in readings if isinstance(reading, OneRun)]
    return list(dict.fromkeys([*named, "accuracy", *BYTES, DETECTORS]))


def measured_cells(study: Study, metrics: Iterable[str]) -> list[MeasuredCell]:
    """All cells of the study in the order of its grid; only finished runs have curves."""
    rows = Run.objects.filter(studies=study).order_by("memberships__position")
    runs = list(rows.values("pk", "cell", "seed", "spec", "state"))
    curves = curves_of([run["pk"] for run in runs if run["state"] == RunState.DONE], list(metrics))
    seeds: dict[str, dict[int, Curves]] = {run["cell"]: {} for run in runs}
    for run in runs:
        if run["pk"] in curves:
            seeds[run["cell"]][run["seed"]] = curves[run["pk"]]
    specs = {run["cell"]: run["spec"] for run in runs}
    return [MeasuredCell(specs[cell], found) for cell, found in seeds.items()]


def curves_of(runs: list[int], metrics: list[str]) -> dict[int, dict[str, dict[int, float]]]:
    names = [name for name in metrics if not name.endswith("*")]
    patterns = [name[:-1].replace("_", r"\_") + "%" for name in metrics if name.endswith("*")]
    found: dict[int, dict[str, dict[int, float]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(CURVES, {"runs": runs, "names": names, "patterns": patterns})
        for run, name, number, value in cursor.fetchall():
            found.setdefault(run, {}).setdefault(name, {})[number] = value
    return found
