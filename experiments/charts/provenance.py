"""Where a run's numbers came from, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.charts.facts import Fact
from experiments.charts.findings import text, words

TOLD_ELSEWHERE = ("engine", "packages", "device", "device_name", "cpu", "seconds")


def provenance_facts(provenance: Mapping[str, Any]) -> list[Fact]:
    """What every run has first, then whatever else was written down."""
    if not provenance:
        return []
    device, name = provenance.get("device", ""), provenance.get("device_name", "")
    seconds = provenance.get("seconds")
    known = [
        Fact("Device", f"{device}: {name}" if name else str(device)),
        Fact("Computing time", f"{seconds:,.1f} s" if isinstance(seconds, int | float) else "–"),
    ]
    rest = [Fact(words(key), text(value)) for key, value in provenance.items() if key not in TOLD_ELSEWHERE]
    packages = provenance.get("packages") or {}
    versions = [Fact("Versions", ", ".join(f"{name} {version}" for name, version in packages.items()))]
    return [*known, *rest, *(versions if packages else [])]
