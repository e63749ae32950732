"""Times exports over HTTP: a million rows from the embedded PostgreSQL, by the real web server, in every format.

python -m benchmarks.export               a minute or two; writes benchmarks/results/
python -m benchmarks.export --quick       few rows: does it still work?
python -m benchmarks.export --publish     also puts the table into docs/export.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.export.report import MARKS, export_table, missed_floors
from benchmarks.machine import describe_machine
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, publish_table, store_results

PAGE = ROOT / "docs" / "export.md"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args(arguments)
    machine = describe_machine()
    with start_servers():
        # Django reads its settings from the environment that is set by now.
        from benchmarks.export.measures import LAB, SMALL_LAB, measure_export

        results = {"machine": machine, **measure_export(SMALL_LAB if options.quick else LAB)}
    text = export_table(results)
    print(f"\n{text}\n")
    if options.quick:
        return 0
    for line in missed_floors(results):
        print(f"missed: {line}")
    store_results("export", results, text)
    if options.publish:
        publish_table(PAGE, text, MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
