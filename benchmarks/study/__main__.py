"""Times whole grids through the platform: real PostgreSQL, Redis and two Celery workers of one thread.

python -m benchmarks.study                  HAR, LR and CNN grid, about 15 minutes; writes benchmarks/results/latest/
python -m benchmarks.study --only lr        one of them
python -m benchmarks.study --quick          small grids: does everything still work?
python -m benchmarks.study --publish        on a quiet machine: writes benchmarks/results/ and docs/benchmarks.md
python -m benchmarks.study --full-har       the 880 HAR runs of the preset iaisy-2024, beside the printed numbers
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, benchmark_parser, keep_results, warn_of_lower_ratios
from benchmarks.study.grids import GRIDS, QUICK_GRIDS
from benchmarks.study.report import MARKS, missed_floors, study_ratios, study_table

PAGE = ROOT / "docs" / "benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    machine = describe_machine(publish=options.publish)
    with start_servers() as (home, _, _):
        # Django reads its settings from the environment that is set by now.
        from benchmarks.study.lab import start_lab

        with start_lab(home) as owner:
            if options.full_har:
                return report_whole_har(owner, machine, options)
            results = {"machine": machine, **measure_grids(owner, options)}
    text = study_table(results)
    print(f"\n{text}\n")
    for line in missed_floors(results):
        print(f"missed: {line}")
    if not options.quick and not options.only:
        warn_of_lower_ratios("study", results, study_ratios)
        keep_results("study", results, text, publish=options.publish, page=PAGE, marks=MARKS)
    return 0


def measure_grids(owner: Any, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.study.lab import with_data
    from benchmarks.study.measures import measure_grid, time_flower

    grids = QUICK_GRIDS if options.quick else GRIDS
    results: dict[str, Any] = {"grids": {}}
    for name, grid in grids.items():
        if options.only and name not in options.only:
            continue
        if name == "lr":
            flower = [time_flower(grid.rounds, test_samples=10_000)]
        results["grids"][name] = measure_grid(owner, with_data(grid))
        if name == "lr":
            results["flower"] = [*flower, *([] if options.quick else [time_flower(grid.rounds, test_samples=10_000)])]
    return results


def report_whole_har(owner: Any, machine: dict[str, Any], options: argparse.Namespace) -> int:
    from benchmarks.study.whole_har import MARKS as WHOLE_MARKS
    from benchmarks.study.whole_har import measure_whole_har, whole_har_table

    results = {"machine": machine, "har": measure_whole_har(owner, quick=options.quick)}
    text = whole_har_table(results)
    print(f"\n{text}\n")
    if not options.quick:
        keep_results("whole-har", results, text, publish=options.publish, page=PAGE, marks=WHOLE_MARKS)
    return 0


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = benchmark_parser("benchmarks.study", __doc__)
    parser.add_argument("--only", nargs="+", choices=GRIDS, default=[])
    parser.add_argument("--full-har", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
