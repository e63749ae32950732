"""Breaks a running platform in every way it promises to survive, at random moments.

make faults                                         every fault ten times; writes benchmarks/results/
python -m benchmarks.faults --only runner-killed    one fault, whose tries replace the earlier ones
python -m benchmarks.faults --times 1 --short       each once, on short runs, as the tests do
python -m benchmarks.faults --publish               also puts the table into docs/reliability.md

Exit code 0 if all that is promised was kept.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.faults.report import MARKS, broken_promises, faults_table, merge_results
from benchmarks.machine import describe_machine
from benchmarks.platform.servers import start_servers
from benchmarks.publish import RESULTS, ROOT, publish_table, store_results

PAGE = ROOT / "docs" / "reliability.md"
RESULTS_FILE = RESULTS / "faults.json"
LEASE_SECONDS, SILENCE_SECONDS, MEMORY_MB = 5, 12, 1500
SETTINGS = {
    "TRIBUTARY_LEASE": str(LEASE_SECONDS),
    "TRIBUTARY_CHECKPOINT_SECONDS": "0",
    "TRIBUTARY_RUN_SILENCE": str(SILENCE_SECONDS),
    "TRIBUTARY_RUN_MEMORY": str(MEMORY_MB),
    "TRIBUTARY_PLUGINS": str(Path(__file__).parent / "plugins"),
}
ROUNDS, SHORT_ROUNDS = 200, 150
BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "scaffold"},
    "clients": 10,
    "fraction": 0.5,
    "client_dropout": 0.1,
    "local": {"epochs": 2, "batch_size": 16},
    "evaluation": {"on": "clients"},
    "engine": "cohort",
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    # Whoever ends this by a signal gets his disk and his ports back all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = {"machine": describe_machine(), "lease": LEASE_SECONDS, "faults": try_faults(options)}
    print(f"\n{faults_table(results)}\n")
    for line in broken_promises(results):
        print(f"not kept: {line}")
    if options.to:
        options.to.write_text(json.dumps(results))
    elif not options.short:
        store_faults(
            results if not options.only else merge_results(json.loads(RESULTS_FILE.read_text()), results),
            options.publish,
        )
    return 1 if broken_promises(results) else 0


def store_faults(results: dict[str, Any], publish: bool) -> None:
    store_results("faults", results, faults_table(results), publish=True)
    if publish:
        publish_table(PAGE, faults_table(results), MARKS)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--to", type=Path, metavar="FILE", help="the results as JSON, instead of benchmarks/results/")
    return parser.parse_args(arguments)


def try_faults(options: argparse.Namespace) -> dict[str, Any]:
    block = {**BLOCK, "rounds": SHORT_ROUNDS if options.short else ROUNDS}
    with start_servers(**SETTINGS) as servers:
        # Django reads its settings from the environment that is set by now.
        from benchmarks.faults.lab import start_lab
        from benchmarks.faults.registry import FAULTS
        from benchmarks.faults.trials import run_trials

        selected = [fault for fault in FAULTS if not options.only or fault.name in options.only]
        with start_lab(*servers) as broken_lab:
            return {
                fault.name: {
                    "title": fault.title,
                    "promise": fault.promise,
                    "tries": run_trials(fault, broken_lab, block, options.times, options.seed),
                }
                for fault in selected
            }


if __name__ == "__main__":
    sys.exit(main())
