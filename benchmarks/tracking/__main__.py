"""Times writing a round and reading 200 curves beside MLflow's tracking server, on one embedded PostgreSQL.

python -m benchmarks.tracking               some minutes; writes benchmarks/results/latest/
python -m benchmarks.tracking --quick       small numbers: does everything still work?
python -m benchmarks.tracking --publish     on a quiet machine: writes benchmarks/results/ and docs/benchmarks.md
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.machine import describe_machine
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, benchmark_parser, keep_results, warn_of_lower_ratios
from benchmarks.tracking.report import MARKS, missed_floors, tracking_ratios, tracking_table

PAGE = ROOT / "docs" / "benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = benchmark_parser("benchmarks.tracking", __doc__).parse_args(arguments)
    machine = describe_machine(publish=options.publish)
    with start_servers() as (_, postgres, _):
        # Django reads its settings from the environment that is set by now.
        from benchmarks.tracking.measures import QUICK, Sizes, measure_tracking
        from benchmarks.tracking.mlflow_server import VERSION, ensure_mlflow

        ensure_mlflow()
        measured = measure_tracking(postgres, QUICK if options.quick else Sizes())
        results = {"machine": machine, "mlflow": VERSION, **measured}
    text = tracking_table(results)
    print(f"\n{text}\n")
    for line in missed_floors(results):
        print(f"missed: {line}")
    if not options.quick:
        warn_of_lower_ratios("tracking", results, tracking_ratios)
        keep_results("tracking", results, text, publish=options.publish, page=PAGE, marks=MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
