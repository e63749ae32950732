"""The platform's measurements as a table: pure functions from results to Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.report import milliseconds

MARKS = ("<!-- platform: written by `python -m benchmarks.platform` -->", "<!-- /platform -->")
HEAD = "| what | measured | limit |"
RULE = "| --- | ---: | ---: |"
TITLES = {
    "launch": "a study of {runs:,} runs is expanded and stored",
    "page": "the queue page with {runs:,} queued runs is answered",
    "claim": "a worker takes the next of {runs:,} queued runs",
    "run": "added to the engine's own time, a run",
    "round": "added to the engine's own time, a round",
}
LIMITS = {"launch": 2.0, "page": 0.150, "claim": None, "run": 0.150, "round": 0.003}


def table(results: Mapping[str, Any]) -> str:
    rows = [row(name, results["measures"][name]) for name in TITLES if name in results["measures"]]
    return "\n".join([machine_line(results["machine"]), "", HEAD, RULE, *rows])


def row(name: str, found: Mapping[str, Any]) -> str:
    limit = LIMITS[name]
    cells = [
        TITLES[name].format(**found),
        f"**{milliseconds(found['seconds'])}**",
        "" if limit is None else milliseconds(limit),
    ]
    return f"| {' | '.join(cells)} |"


def machine_line(machine: Mapping[str, Any]) -> str:
    return (
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, with the embedded PostgreSQL and its durable settings. Medians."
    )


def missed(found: Mapping[str, Any]) -> Iterable[str]:
    """Limits that this run did not keep."""
    for name, limit in LIMITS.items():
        if name in found and limit is not None and found[name]["seconds"] > limit:
            yield f"{name}: {milliseconds(found[name]['seconds'])}, the limit is {milliseconds(limit)}"
