"""The list of checks, and how they are made: each by itself, so that one which breaks hides nothing of the others."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connections

from experiments.operations.doctor import files, machine, servers
from experiments.operations.doctor.findings import Check, Finding, Section, note
from experiments.operations.doctor.findings import error as broken

CHECKS: Mapping[str, tuple[Check, ...]] = {
    "Machine": (machine.check_home, machine.check_disk, machine.check_versions),
    "Services": (
        servers.check_database,
        servers.check_connections,
        servers.check_broker,
        servers.check_scheduler,
        servers.check_workers,
    ),
    "Components": (machine.check_own_components,),
    "Queue": (servers.check_leases, servers.check_waiting),
    "Curves": (servers.check_curves,),
    "Files": (
        files.check_run_folders,
        files.check_store,
        files.check_models,
        files.check_account_folders,
        files.check_forgotten_homes,
    ),
}


def examine(checks: Mapping[str, tuple[Check, ...]] = CHECKS) -> list[Section]:
    return [
        Section(title, tuple(finding for check in group for finding in run_check(check)))
        for title, group in checks.items()
    ]


def run_check(check: Check) -> list[Finding]:
    """Only `servers.check_database` tells that the database is away; whatever else needs it was not looked at."""
    try:
        return list(check())
    except (Error, ImproperlyConfigured):
        connections.close_all()
        return [note(f"{check_title(check)}: not looked at without the database.")]
    except Exception as error:
        mend = "This is a fault of Tributary: report it with this line."
        return [broken(f"{check_title(check)}: {type(error).__name__}: {error}", mend)]


def check_title(check: Check) -> str:
    return check.__name__.removeprefix("check_").replace("_", " ").capitalize()
