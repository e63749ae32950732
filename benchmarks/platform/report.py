"""The platform's measurements as a table: pure functions from results to Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.engine.report import seconds_text

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


def platform_table(results: Mapping[str, Any]) -> str:
    rows = [measure_row(name, results["measures"][name]) for name in TITLES if name in results["measures"]]
    return "\n".join([machine_line(results["machine"]), "", HEAD, RULE, *rows])


def measure_row(name: str, measure: Mapping[str, Any]) -> str:
    limit = LIMITS[name]
    cells = [
        TITLES[name].format(**measure),
        f"**{seconds_text(measure['seconds'])}**",
        "" if limit is None else seconds_text(limit),
    ]
    return f"| {' | '.join(cells)} |"


def machine_line(machine: Mapping[str, Any]) -> str:
    return (
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, with the embedded PostgreSQL and its durable settings. Medians."
    )


def missed_limits(measures: Mapping[str, Any]) -> Iterable[str]:
    """Limits that this run did not keep."""
    for name, limit in LIMITS.items():
        if name in measures and limit is not None and measures[name]["seconds"] > limit:
            yield f"{name}: {seconds_text(measures[name]['seconds'])}, the limit is {seconds_text(limit)}"
