"""The list of checks, and how they are made: each by itself, so that one which breaks hides nothing of the others."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connections

from experiments.operations.doctor import files, machine, servers
from experiments.operations.doctor.findings import Check, Finding, Section, note
from experiments.operations.doctor.findings import error as broken

CHECKS: Mapping[str, tuple[Check, ...]] = {
    "Machine": (machine.home, machine.disk, machine.versions),
    "Services": (servers.database, servers.broker, servers.scheduler, servers.workers),
    "Components": (machine.own_components,),
    "Queue": (servers.leases, servers.waiting),
    "Files": (files.run_folders, files.models, files.account_folders, files.forgotten_homes),
}


def examine(checks: Mapping[str, tuple[Check, ...]] = CHECKS) -> list[Section]:
    return [
        Section(title, tuple(finding for check in group for finding in made(check))) for title, group in checks.items()
    ]


def made(check: Check) -> list[Finding]:
    """Only `servers.database` tells that the database is away; whatever else needs it was not looked at."""
    try:
        return list(check())
    except (Error, ImproperlyConfigured):
        connections.close_all()
        return [note(f"{named(check)}: not looked at without the database.")]
    except Exception as error:
        mend = "This is a fault of Tributary: report it with this line."
        return [broken(f"{named(check)}: {type(error).__name__}: {error}", mend)]


def named(check: Check) -> str:
    return check.__name__.replace("_", " ").capitalize()
