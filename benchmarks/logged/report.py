"""What a call of `log` costs as a table: pure functions from results to Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.ratios import Ratio, time_ratio

MARKS = ("<!-- logged: written by `python -m benchmarks.logged` -->", "<!-- /logged -->")
HEAD = "| client | a call of log | one in a hundred takes | values a second | Tributary's call is |"
RULE = "| --- | ---: | ---: | ---: | ---: |"
OWN = "Tributary"
MOST_MICROSECONDS = 100


def logged_table(results: Mapping[str, Any]) -> str:
    ratios = logged_ratios(results)
    rows = [row(name, results, ratios.get(name)) for name in results["clients"]]
    return "\n".join([machine_line(results), "", HEAD, RULE, *rows])


def row(name: str, results: Mapping[str, Any], ratio: Ratio | None) -> str:
    call, slow = (microseconds(results, name, key) for key in ("call", "slow_call"))
    faster = "" if ratio is None else f"**{ratio.value:.1f}x** faster" if ratio.value >= 1 else f"{ratio.value:.1f}x"
    return f"| {name} | {call:,.0f} µs | {slow:,.0f} µs | {values_a_second(results, name):,.0f} | {faster} |"


def passes_of(results: Mapping[str, Any], name: str, key: str) -> list[float]:
    return [each[key] for each in results["clients"][name]]


def microseconds(results: Mapping[str, Any], name: str, key: str) -> float:
    return 1e6 * statistics.median(passes_of(results, name, key))


def values_a_second(results: Mapping[str, Any], name: str) -> float:
    return float(results["calls"] * results["values"] / statistics.median(passes_of(results, name, "seconds")))


def logged_ratios(results: Mapping[str, Any]) -> dict[str, Ratio]:
    """Of a call of `log`."""
    own = passes_of(results, OWN, "call")
    return {name: time_ratio(passes_of(results, name, "call"), own) for name in results["clients"] if name != OWN}


def missed_limits(results: Mapping[str, Any]) -> Iterable[str]:
    if (call := microseconds(results, OWN, "call")) > MOST_MICROSECONDS:
        yield f"a call of log takes {call:,.0f} µs, the limit is {MOST_MICROSECONDS}"


def machine_line(results: Mapping[str, Any]) -> str:
    machine = results["machine"]
    return (
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, MLflow {results['mlflow']}, trackio {results['trackio']}. Medians of "
        f"{len(results['clients'][OWN])} turns with {results['calls']:,} calls of {results['values']} values; the "
        "seconds end when all is stored, which was counted. Tributary and MLflow have a server on one PostgreSQL; "
        "trackio writes to SQLite in its own process, without a server."
    )
