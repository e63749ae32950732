"""Times the engine against Flower's Ray backend, pfl and a plain loop, all in one run on this machine.

make bench                                      everything, about ten minutes; writes benchmarks/results/
python -m benchmarks.engine --only logistic     one federation
python -m benchmarks.engine --quick             few rounds: does every contender still run?
python -m benchmarks.engine --publish           also puts the table into README.md and docs/benchmarks.md
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.contenders.clock import STARTED
from benchmarks.plan import CONTESTS, ROOT, Contest, Setting, command, ensure_pfl, environment
from benchmarks.report import key, missed, publish, table
from benchmarks.shapes import SHAPES
from workers.engine.provenance import commit, machine, packages

RESULTS = ROOT / "benchmarks" / "results"
PUBLISHED = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
QUICK_ROUNDS = 3
COMPARED = ("torch", "flwr", "ray")


def main(arguments: Sequence[str] | None = None) -> int:
    given = parsed(arguments)
    contests = [each for each in CONTESTS if not given.only or each.shape in given.only]
    if any(each.contender == "pfl" for each in contests):
        ensure_pfl()
    results = {"machine": facts(), "contests": {key(each): best(each, quick=given.quick) for each in contests}}
    text = table(results)
    print(f"\n{text}\n")
    for line in missed(results["contests"]):
        print(f"below its floor: {line}")
    if not given.only and not given.quick:
        keep(results, text, given.publish)
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--publish", action="store_true")
    return parser.parse_args(arguments)


def best(contest: Contest, *, quick: bool) -> dict[str, Any]:
    """The setting with the fastest warm round; all of them are kept beside it."""
    settings = contest.settings[:1] if quick else contest.settings
    measured = [measure(contest, each, QUICK_ROUNDS if quick else contest.rounds) for each in settings]
    chosen = min(measured, key=lambda each: each["warm"])
    return {**chosen, "all": {each["setting"]: each["warm"] for each in measured}}


def measure(contest: Contest, setting: Setting, rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder) / "out.json", Path(folder) / "log.txt"
        with log.open("wb") as file:
            extra = {STARTED: str(time.time())}
            done = subprocess.run(
                command(contest, setting, rounds, out),
                cwd=ROOT,
                env=environment(setting) | extra,
                stdout=file,
                stderr=file,
            )
        if done.returncode or not out.exists():
            raise SystemExit(f"{key(contest)} ({setting}) failed:\n{log.read_text(errors='replace')[-3000:]}")
        found = json.loads(out.read_text())
    seconds = found.pop("rounds")
    result = {**found, "setting": str(setting), "warm": statistics.median(warm(seconds)), "rounds": len(seconds)}
    print(f"{key(contest):24} {setting!s:24} warm {result['warm'] * 1000:10.2f} ms   cold {result['cold']:6.1f} s")
    return result


def warm(seconds: Sequence[float]) -> Sequence[float]:
    """The first quarter, at least one round, is for caches, compilers and actors to settle."""
    return seconds[max(1, len(seconds) // 4) :]


def facts() -> dict[str, Any]:
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"The machine is not quiet (load {load:.1f}); ratios are less certain.", file=sys.stderr)
    return {
        **{name: value for name, value in machine().items() if name != "threads"},
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "load_before": load,
        "packages": {name: packages()[name] for name in COMPARED} | {"pfl": "0.6.0"},
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def keep(results: dict[str, Any], text: str, everywhere: bool) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "engine.json").write_text(json.dumps(results, indent=2) + "\n")
    (RESULTS / "engine.md").write_text(text + "\n")
    if everywhere:
        for path in PUBLISHED:
            print(f"{path.name}: {'table written' if publish(path, text) else 'has no place for the table'}")
