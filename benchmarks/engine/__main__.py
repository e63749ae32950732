"""Times the engine against Flower's Ray backend, pfl and a plain loop, all in one run on this machine.

python -m benchmarks.engine                     everything, about ten minutes; writes benchmarks/results/latest/
python -m benchmarks.engine --only logistic     one federation
python -m benchmarks.engine --quick             few rounds: does every contender still run?
python -m benchmarks.engine --publish           quiet machines only: benchmarks/results/, README, docs/benchmarks.md
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.engine.contenders.clock import STARTED
from benchmarks.engine.contests import (
    CONTESTS,
    PASSES,
    Contest,
    Setting,
    contender_command,
    contender_environment,
    ensure_pfl,
)
from benchmarks.engine.report import MARKS, contest_key, engine_ratios, engine_table, missed_floors
from benchmarks.engine.shapes import SHAPES
from benchmarks.machine import describe_machine
from benchmarks.publish import ROOT, benchmark_parser, publish_table, store_results, warn_of_lower_ratios

PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
QUICK_ROUNDS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    machine = describe_machine(publish=options.publish)
    contests = [each for each in CONTESTS if not options.only or each.shape in options.only]
    if any(each.contender == "pfl" for each in contests):
        ensure_pfl()
    results = {"machine": machine, "contests": measure_all(contests, quick=options.quick)}
    text = engine_table(results)
    print(f"\n{text}\n")
    for line in missed_floors(results["contests"]):
        print(f"below its floor: {line}")
    if not options.only and not options.quick:
        warn_of_lower_ratios("engine", results, engine_ratios)
        store_results("engine", results, text, publish=options.publish)
        for page in PAGES if options.publish else ():
            publish_table(page, text, MARKS)
    return 0


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = benchmark_parser("benchmarks.engine", __doc__)
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=[])
    return parser.parse_args(arguments)


def measure_all(contests: Sequence[Contest], *, quick: bool) -> dict[str, Any]:
    """By `shape/contender` the setting with the fastest warm round; all of them are kept beside it.

    The contenders of a federation take turns, several times over, so that a machine that is slower for a minute is
    slower for all of them.
    """
    passes_by_setting: dict[str, dict[str, list[dict[str, Any]]]] = {contest_key(each): {} for each in contests}
    for shape in dict.fromkeys(each.shape for each in contests):
        for _ in range(1 if quick else PASSES[shape]):
            for contest in (each for each in contests if each.shape == shape):
                for setting in contest.settings[:1] if quick else contest.settings:
                    result = measure(contest, setting, QUICK_ROUNDS if quick else contest.rounds)
                    passes_by_setting[contest_key(contest)].setdefault(str(setting), []).append(result)
    return {
        name: best_setting([pool_passes(passes) for passes in settings.values()])
        for name, settings in passes_by_setting.items()
    }


def best_setting(measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    best = min(measured, key=lambda each: each["warm"])
    return {**best, "all": {each["setting"]: each["warm"] for each in measured}}


def pool_passes(passes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One measurement of all warm rounds of all passes."""
    rounds = [seconds for each in passes for seconds in each["rounds"]]
    return {
        **passes[0],
        "warm": statistics.median(rounds),
        "rounds": len(rounds),
        "passes": len(passes),
        "pass_medians": [statistics.median(each["rounds"]) for each in passes],
        "cold": statistics.median(each["cold"] for each in passes),
        "peak_bytes": max(each["peak_bytes"] for each in passes),
    }


def measure(contest: Contest, setting: Setting, rounds: int) -> dict[str, Any]:
    """What a process of that contender reports; `rounds` are the seconds of its warm ones."""
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder) / "out.json", Path(folder) / "log.txt"
        with log.open("wb") as file:
            extra = {STARTED: str(time.time())}
            process = subprocess.run(
                contender_command(contest, setting, rounds, out),
                cwd=ROOT,
                env=contender_environment(setting) | extra,
                stdout=file,
                stderr=file,
            )
        if process.returncode or not out.exists():
            raise SystemExit(f"{contest_key(contest)} ({setting}) failed:\n{log.read_text(errors='replace')[-3000:]}")
        report: dict[str, Any] = json.loads(out.read_text())
    seconds = list(warm_rounds(report["rounds"]))
    middle = statistics.median(seconds) * 1000
    print(f"{contest_key(contest):24} {setting!s:24} warm {middle:10.2f} ms   cold {report['cold']:6.1f} s", flush=True)
    return {**report, "setting": str(setting), "rounds": seconds}


def warm_rounds(seconds: Sequence[float]) -> Sequence[float]:
    """The first quarter, at least one round, is for caches, compilers and actors to settle."""
    return seconds[max(1, len(seconds) // 4) :]


if __name__ == "__main__":
    sys.exit(main())
