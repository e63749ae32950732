"""Times what the platform adds to the engine, on its embedded PostgreSQL with durable settings and a real worker.

python -m benchmarks.platform               everything, some minutes; writes benchmarks/results/
python -m benchmarks.platform --quick       small numbers: does every measure still work?
python -m benchmarks.platform --publish     also puts the table into docs/benchmarks.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.machine import describe_machine
from benchmarks.platform.report import MARKS, missed_limits, platform_table
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, publish_table, store_results

PAGE = ROOT / "docs" / "benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    machine = describe_machine()
    with start_servers():
        # Django reads its settings from the environment that is set by now.
        from benchmarks.platform.measures import SIZES, Sizes, measure_platform

        results = {"machine": machine, "measures": measure_platform(Sizes.small() if options.quick else SIZES)}
    text = platform_table(results)
    print(f"\n{text}\n")
    for line in missed_limits(results["measures"]):
        print(f"over its limit: {line}")
    if not options.quick:
        store_results("platform", results, text)
    if options.publish and not options.quick:
        publish_table(PAGE, text, MARKS)
    return 0


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.platform", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--publish", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
