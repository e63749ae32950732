"""The measurements of exports as a table: pure functions from results to Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.platform.report import machine_line

MARKS = ("<!-- export benchmark: written by `python -m benchmarks.export` -->", "<!-- /export benchmark -->")
HEAD = "| format | rows a second | floor | size |"
RULE = "| --- | ---: | ---: | ---: |"
FLOORS = {"csv": 200_000, "parquet": 1_000_000}
MEMORY_LIMIT = 300e6


def export_table(results: Mapping[str, Any]) -> str:
    rows = [format_row(name, each, results["rows"]) for name, each in results["formats"].items()]
    memory = (
        f"{results['rows']:,} rows of {results['runs']:,} runs. Peak memory of the web server over all of them: "
        f"**{results['peak_bytes'] / 1e6:.0f} MB** (limit {MEMORY_LIMIT / 1e6:.0f} MB), "
        f"{results['idle_bytes'] / 1e6:.0f} MB of it before the first."
    )
    return "\n".join([machine_line(results["machine"]), "", HEAD, RULE, *rows, "", memory])


def format_row(name: str, measured: Mapping[str, Any], rows: int) -> str:
    floor = f"{FLOORS[name]:,}" if name in FLOORS else ""
    return f"| {name} | **{rows_a_second(measured, rows):,.0f}** | {floor} | {measured['bytes'] / 1e6:.1f} MB |"


def rows_a_second(measured: Mapping[str, Any], rows: int) -> float:
    return float(rows / measured["seconds"])


def missed_floors(results: Mapping[str, Any]) -> Iterator[str]:
    """Floors and limits that this run did not keep."""
    for name, floor in FLOORS.items():
        if (speed := rows_a_second(results["formats"][name], results["rows"])) < floor:
            yield f"{name}: {speed:,.0f} rows a second, the floor is {floor:,}"
    if results["peak_bytes"] >= MEMORY_LIMIT:
        yield f"memory: {results['peak_bytes'] / 1e6:.0f} MB"
