"""Which runs would have another identity if they were launched now: their data, code or engine changed."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.models import Run
from workers.catalog import load_catalog
from workers.catalog.plugins import StalePluginError
from workers.errors import SpecError
from workers.spec import PlannedRun, RunSpec
from workers.spec.grid import CellParser

MOST_CHECKED = 50


def changed_runs(runs: Iterable[Run]) -> dict[Run, PlannedRun]:
    """By run what would be launched in its place. Raises `StalePluginError` where this process cannot tell.

    Specs that could not be launched now are left out: whoever computes them says what is missing.
    """
    parser = CellParser()
    changed: dict[Run, PlannedRun] = {}
    for run in runs:
        try:
            planned = parser.plan(run.spec)
        except StalePluginError:
            raise
        except SpecError:
            continue
        if planned.hash != run.hash and has_data(planned.spec):
            changed[run] = planned
    return changed


def has_data(spec: RunSpec) -> bool:
    return load_catalog().datasets[spec.dataset.name].available(spec.dataset) is None


def runs_that_change(runs: Iterable[int]) -> set[int]:
    """Those of the runs whose retry is a new launch."""
    return {run.pk for run in Run.objects.filter(pk__in=list(runs)[:MOST_CHECKED]) if would_change(run)}


def would_change(run: Run) -> bool:
    """Where this process read a plugin before it changed, it knows no more than that."""
    try:
        return bool(changed_runs([run]))
    except StalePluginError:
        return True
