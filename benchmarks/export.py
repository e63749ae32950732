"""Times exports over HTTP: a million rows from the embedded PostgreSQL, by the real web server, in every format.

python -m benchmarks.export               a minute or two; writes benchmarks/results/
python -m benchmarks.export --quick       few rows: does it still work?
python -m benchmarks.export --publish     also puts the table into docs/export.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.engine import facts
from benchmarks.plan import ROOT
from benchmarks.platform import keep, platform, show
from benchmarks.platform_report import machine_line

PAGE = ROOT / "docs" / "export.md"
MARKS = ("<!-- export benchmark: written by `python -m benchmarks.export` -->", "<!-- /export benchmark -->")
HEAD = "| format | rows a second | floor | size |"
RULE = "| --- | ---: | ---: | ---: |"
FLOORS = {"csv": 200_000, "parquet": 1_000_000}
MEMORY_LIMIT = 300e6


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args(arguments)
    machine = facts()
    with platform():
        # Django reads its settings from the environment that is set by now.
        from benchmarks.export_measures import LAB, SMALL_LAB, measured

        results = {"machine": machine, **measured(SMALL_LAB if given.quick else LAB)}
    text = table(results)
    print(f"\n{text}\n")
    if given.quick:
        return 0
    for line in missed(results):
        print(f"missed: {line}")
    keep("export", results, text)
    if given.publish:
        show(PAGE, text, MARKS)
    return 0


def table(results: Mapping[str, Any]) -> str:
    rows = [row(name, each, results["rows"]) for name, each in results["formats"].items()]
    memory = (
        f"{results['rows']:,} rows of {results['runs']:,} runs. Peak memory of the web server over all of them: "
        f"**{results['peak_bytes'] / 1e6:.0f} MB** (limit {MEMORY_LIMIT / 1e6:.0f} MB), "
        f"{results['idle_bytes'] / 1e6:.0f} MB of it before the first."
    )
    return "\n".join([machine_line(results["machine"]), "", HEAD, RULE, *rows, "", memory])


def row(name: str, found: Mapping[str, Any], rows: int) -> str:
    floor = f"{FLOORS[name]:,}" if name in FLOORS else ""
    return f"| {name} | **{speed(found, rows):,.0f}** | {floor} | {found['bytes'] / 1e6:.1f} MB |"


def speed(found: Mapping[str, Any], rows: int) -> float:
    return float(rows / found["seconds"])


def missed(results: Mapping[str, Any]) -> Iterator[str]:
    """Floors and limits that this run did not keep."""
    for name, floor in FLOORS.items():
        if (found := speed(results["formats"][name], results["rows"])) < floor:
            yield f"{name}: {found:,.0f} rows a second, the floor is {floor:,}"
    if results["peak_bytes"] >= MEMORY_LIMIT:
        yield f"memory: {results['peak_bytes'] / 1e6:.0f} MB"


if __name__ == "__main__":
    sys.exit(main())
