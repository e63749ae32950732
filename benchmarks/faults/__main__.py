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

from benchmarks.engine import RESULTS, facts
from benchmarks.faults.report import MARKS, broken, merged, table
from benchmarks.plan import ROOT
from benchmarks.platform import keep, platform, show

PAGE = ROOT / "docs" / "reliability.md"
KEPT = RESULTS / "faults.json"
LEASE_SECONDS, SILENCE_SECONDS, MEMORY_MB = 5, 12, 1500
SETTINGS = {
    "TRIBUTARY_LEASE": str(LEASE_SECONDS),
    "TRIBUTARY_RUN_SILENCE": str(SILENCE_SECONDS),
    "TRIBUTARY_RUN_MEMORY": str(MEMORY_MB),
    "TRIBUTARY_PLUGINS": str(Path(__file__).parent / "plugins"),
}
ROUNDS, SHORT_ROUNDS = 40, 30
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
    given = parsed(arguments)
    # Whoever ends this by a signal gets his disk and his ports back all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = {"machine": facts(), "lease": LEASE_SECONDS, "faults": found(given)}
    print(f"\n{table(results)}\n")
    for line in broken(results):
        print(f"not kept: {line}")
    if given.to:
        given.to.write_text(json.dumps(results))
    elif not given.short:
        store(results if not given.only else merged(json.loads(KEPT.read_text()), results), given.publish)
    return 1 if broken(results) else 0


def store(results: dict[str, Any], publish: bool) -> None:
    keep("faults", results, table(results))
    if publish:
        show(PAGE, table(results), MARKS)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--to", type=Path, metavar="FILE", help="the results as JSON, instead of benchmarks/results/")
    return parser.parse_args(arguments)


def found(given: argparse.Namespace) -> dict[str, Any]:
    block = {**BLOCK, "rounds": SHORT_ROUNDS if given.short else ROUNDS}
    with platform(**SETTINGS) as servers:
        # Django reads its settings from the environment that is set by now.
        from benchmarks.faults.lab import lab
        from benchmarks.faults.registry import FAULTS
        from benchmarks.faults.trying import tries

        chosen = [fault for fault in FAULTS if not given.only or fault.name in given.only]
        with lab(*servers) as broken_lab:
            return {
                fault.name: {
                    "title": fault.title,
                    "promise": fault.promise,
                    "tries": tries(fault, broken_lab, block, given.times, given.seed),
                }
                for fault in chosen
            }


if __name__ == "__main__":
    sys.exit(main())
