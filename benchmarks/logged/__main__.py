"""What a call of `log` costs a script, beside MLflow's and trackio's clients; and a server that goes away meanwhile.

python -m benchmarks.logged                 some minutes; writes benchmarks/results/latest/
python -m benchmarks.logged --quick         small numbers: does everything still work?
python -m benchmarks.logged --publish       on a quiet machine: writes benchmarks/results/ and docs/benchmarks.md
python -m benchmarks.logged --outage 60     10,000 calls, the server away for a minute among them: do all arrive once?

MLflow and trackio are installed into environments of their own in benchmarks/ the first time.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from benchmarks.logged.report import MARKS, logged_ratios, logged_table, missed_limits
from benchmarks.machine import describe_machine
from benchmarks.platform.servers import start_servers
from benchmarks.publish import ROOT, benchmark_parser, keep_results, warn_of_lower_ratios

PAGE = ROOT / "docs" / "benchmarks.md"
CALLS, TURNS, QUICK_CALLS, OUTAGE_CALLS = 2_000, 3, 100, 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    parser = benchmark_parser("benchmarks.logged", __doc__)
    parser.add_argument("--outage", type=float, metavar="SECONDS")
    options = parser.parse_args(arguments)
    sys.path.append(str(ROOT / "clients" / "python" / "src"))
    if options.outage is not None:
        return try_outage(options.outage)
    machine = describe_machine(publish=options.publish)
    with start_servers() as (_, postgres, _):
        # Django reads its settings from the environment that is set by now.
        from benchmarks.logged.loops import VALUES
        from benchmarks.logged.measures import TRACKIO_VERSION, ensure_trackio, measure_clients
        from benchmarks.tracking.mlflow_server import VERSION, ensure_mlflow

        ensure_mlflow()
        ensure_trackio()
        calls, turns = (QUICK_CALLS, 1) if options.quick else (CALLS, TURNS)
        clients = measure_clients(postgres, calls, turns)
    facts = {"machine": machine, "mlflow": VERSION, "trackio": TRACKIO_VERSION, "calls": calls, "values": len(VALUES)}
    results = {**facts, "clients": clients}
    text = logged_table(results)
    print(f"\n{text}\n")
    for line in missed_limits(results):
        print(f"missed: {line}")
    if not options.quick:
        warn_of_lower_ratios("logged", results, logged_ratios)
        keep_results("logged", results, text, publish=options.publish, page=PAGE, marks=MARKS)
    return 0


def try_outage(seconds: float) -> int:
    logging.getLogger("httpx").setLevel(logging.WARNING)
    with start_servers():
        from benchmarks.logged.measures import measure_outage

        problems = measure_outage(OUTAGE_CALLS, seconds)
    for line in problems[:20]:
        print(line)
    print(f"{OUTAGE_CALLS:,} calls, {seconds:g} seconds without a server: {len(problems)} values lost or doubled.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
