"""Times exports over HTTP: a million rows from the embedded PostgreSQL, by the real web server, in every format.

python -m benchmarks.export               a minute or two; writes benchmarks/results/latest/
python -m benchmarks.export --quick       few rows: does it still work?
python -m benchmarks.export --publish     on a quiet machine: writes benchmarks/results/ and docs/export.md
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.export.report import MARKS, export_table, missed_floors
from benchmarks.machine import describe_machine
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, benchmark_parser, keep_results

PAGE = ROOT / "docs" / "export.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = benchmark_parser("benchmarks.export", __doc__).parse_args(arguments)
    machine = describe_machine(publish=options.publish)
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
    keep_results("export", results, text, publish=options.publish, page=PAGE, marks=MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
