"""Tracking beside MLflow's as a table: pure functions from results to Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.engine.report import seconds_text
from benchmarks.ratios import Ratio, time_ratio

MARKS = ("<!-- tracking: written by `python -m benchmarks.tracking` -->", "<!-- /tracking -->")
HEAD = "| what | by | time | Tributary is | floor |"
RULE = "| --- | --- | ---: | ---: | ---: |"
WRITE_FLOOR = 5
READ_FLOORS = {"MLflow, get-history": 50}
"""Of the documented interface; those of MLflow's own pages stand beside it."""
OWN = "Tributary"


def tracking_table(results: Mapping[str, Any]) -> str:
    written = [
        row(f"a round's {results['values']} values are written", OWN, results["write"][OWN]),
        row("", "MLflow, log-batch", results["write"]["MLflow"], write_ratio(results), WRITE_FLOOR),
    ]
    title = f"{results['runs']} curves of {results['rounds'] + 1} points are read"
    own = [name for name in results["read"] if name.startswith(OWN)]
    read = [row(title if not place else "", name, read_passes(results, name)) for place, name in enumerate(own)]
    for name, ratio in read_ratios(results).items():
        read.append(row("", name, read_passes(results, name), ratio, READ_FLOORS.get(name)))
    return "\n".join([machine_line(results), "", HEAD, RULE, *written, *read])


def row(what: str, who: str, passes: list[float], ratio: Ratio | None = None, floor: float | None = None) -> str:
    faster = "" if ratio is None else f"**{ratio.value:.1f}x** faster"
    limit = "" if floor is None else f"{floor:g}x"
    return f"| {what} | {who} | {seconds_text(statistics.median(passes))} | {faster} | {limit} |"


def read_passes(results: Mapping[str, Any], name: str) -> list[float]:
    passes: list[float] = results["read"][name]["passes"]
    return passes


def write_ratio(results: Mapping[str, Any]) -> Ratio:
    return time_ratio(results["write"]["MLflow"], results["write"][OWN])


def read_ratios(results: Mapping[str, Any]) -> dict[str, Ratio]:
    """Each way of MLflow's beside the fastest of ours."""
    fastest = min(
        (read_passes(results, name) for name in results["read"] if name.startswith(OWN)), key=statistics.median
    )
    others = [name for name in results["read"] if not name.startswith(OWN)]
    return {name: time_ratio(read_passes(results, name), fastest) for name in others}


def tracking_ratios(results: Mapping[str, Any]) -> dict[str, Ratio]:
    return {"write": write_ratio(results), **read_ratios(results)}


def machine_line(results: Mapping[str, Any]) -> str:
    machine = results["machine"]
    return (
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, MLflow {results['mlflow']}, one embedded PostgreSQL with its durable settings "
        "for both. Medians, in turns; every point that was read was compared with what was written."
    )


def missed_floors(results: Mapping[str, Any]) -> Iterable[str]:
    if (ratio := write_ratio(results).value) < WRITE_FLOOR:
        yield f"writing a round: {ratio:.1f}x, the floor is {WRITE_FLOOR}x"
    for name, each in read_ratios(results).items():
        if each.value < (floor := READ_FLOORS.get(name, 0)):
            yield f"reading, {name}: {each.value:.1f}x, the floor is {floor}x"
