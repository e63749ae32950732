"""Times what the platform adds to the engine, on its embedded PostgreSQL with durable settings and a real worker.

python -m benchmarks.platform               everything, some minutes; writes benchmarks/results/latest/
python -m benchmarks.platform --quick       small numbers: does every measure still work?
python -m benchmarks.platform --publish     on a quiet machine: writes benchmarks/results/ and docs/benchmarks.md
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.machine import describe_machine
from benchmarks.platform.report import MARKS, missed_limits, platform_table
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, benchmark_parser, keep_results

PAGE = ROOT / "docs" / "benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = benchmark_parser("benchmarks.platform", __doc__).parse_args(arguments)
    machine = describe_machine(publish=options.publish)
    with start_servers():
        # Django reads its settings from the environment that is set by now.
        from benchmarks.platform.measures import SIZES, Sizes, measure_platform

        results = {"machine": machine, "measures": measure_platform(Sizes.small() if options.quick else SIZES)}
    text = platform_table(results)
    print(f"\n{text}\n")
    for line in missed_limits(results["measures"]):
        print(f"over its limit: {line}")
    if not options.quick:
        keep_results("platform", results, text, publish=options.publish, page=PAGE, marks=MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
