"""Specs: one run (`RunSpec`), a grid of them (`expand`), and what makes two of them the same (`canonical_hash`)."""

from workers.spec.appspec import LOGGED, AnySpec, AppSpec, is_app, is_logged, parse_spec, says_rounds
from workers.spec.grid import Grid, PlannedRun, count_runs, expand
from workers.spec.identity import canonical_hash, cell_hash
from workers.spec.launch_identity import IdentityError, LaunchIdentity, launch_identity, require_identity
from workers.spec.paths import flatten, varying_paths
from workers.spec.runspec import RunSpec, parse_run

__all__ = [
    "LOGGED",
    "AnySpec",
    "AppSpec",
    "Grid",
    "IdentityError",
    "LaunchIdentity",
    "PlannedRun",
    "RunSpec",
    "canonical_hash",
    "cell_hash",
    "count_runs",
    "expand",
    "flatten",
    "is_app",
    "is_logged",
    "launch_identity",
    "parse_run",
    "parse_spec",
    "require_identity",
    "says_rounds",
    "varying_paths",
]
