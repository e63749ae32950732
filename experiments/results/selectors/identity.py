"""Which runs would have another identity if they were launched now: their data, code or engine changed."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.models import Run
from workers.apps.library import find_version
from workers.apps.package import AppError
from workers.catalog import load_catalog
from workers.catalog.plugins import StalePluginError
from workers.errors import SpecError
from workers.spec import AnySpec, AppSpec, PlannedRun, is_app, is_logged
from workers.spec.grid import CellParser
from workers.spec.identity import app_identity_parts, cell_identity_of

MOST_CHECKED = 50


def changed_runs(runs: Iterable[Run]) -> dict[Run, PlannedRun]:
    """By run what would be launched in its place. Raises `StalePluginError` where this process cannot tell.

    Specs that could not be launched now are left out: whoever computes them says what is missing. Logged runs are
    what they were.
    """
    parser = CellParser()
    changed: dict[Run, PlannedRun] = {}
    for run in runs:
        if is_logged(run.spec):
            continue
        try:
            planned = (app_run_as_launched(run) if is_app(run.spec) else None) or parser.plan(run.spec)
        except StalePluginError:
            raise
        except SpecError:
            continue
        if planned.hash != run.hash and has_data(planned.spec):
            changed[run] = planned
    return changed


def app_run_as_launched(run: Run) -> PlannedRun | None:
    """The run of an app with the version it was launched with, whatever the app is by now; None where that is gone."""
    spec = AppSpec.model_validate(run.spec)
    try:
        package = find_version(spec.app.name, run.launch_sources["versions"]["app"])
    except AppError:
        return None
    identity = cell_identity_of(app_identity_parts(spec, package.hash))
    return PlannedRun(spec, identity.run_hash(spec.seed), identity.cell, identity.sources)


def has_data(spec: AnySpec) -> bool:
    """An app brings its own."""
    return isinstance(spec, AppSpec) or load_catalog().datasets[spec.dataset.name].available(spec.dataset) is None


def runs_that_change(runs: Iterable[int]) -> set[int]:
    """Those of the runs whose retry is a new launch."""
    return {run.pk for run in Run.objects.filter(pk__in=list(runs)[:MOST_CHECKED]) if would_change(run)}


def would_change(run: Run) -> bool:
    """Where this process read a plugin before it changed, it knows no more than that."""
    try:
        return bool(changed_runs([run]))
    except StalePluginError:
        return True
