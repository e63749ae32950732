"""The catalog, and the lab's own components in it."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connections

from experiments.selectors.components import Told, component_problems
from experiments.services.doctor.findings import Finding, error, good
from workers.catalog import load_catalog

MEND = "See docs/plugins.md; a file is read anew when web server and workers start again."


def own_components() -> Iterator[Finding]:
    catalog = load_catalog()
    catalog.ask_own_data()
    yield good(f"{sum(1 for _ in catalog)} components, {len(catalog.own_stamps)} of them the lab's own.")
    for problem, holders in told().items():
        yield error(f"{problem} ({', '.join(holders)})", MEND)


def told() -> Told:
    """Without the database, what is wrong on this machine."""
    try:
        return component_problems()
    except (Error, ImproperlyConfigured):
        connections.close_all()
        return component_problems([])
