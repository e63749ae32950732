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
from benchmarks.plan import CONTESTS, PASSES, ROOT, Contest, Setting, command, ensure_pfl, environment
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
    results = {"machine": facts(), "contests": measure_all(contests, quick=given.quick)}
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


def measure_all(contests: Sequence[Contest], *, quick: bool) -> dict[str, Any]:
    """By `shape/contender` the setting with the fastest warm round; all of them are kept beside it.

    The contenders of a federation take turns, several times over, so that a machine that is slower for a minute is
    slower for all of them.
    """
    found: dict[str, dict[str, list[dict[str, Any]]]] = {key(each): {} for each in contests}
    for shape in dict.fromkeys(each.shape for each in contests):
        for _ in range(1 if quick else PASSES[shape]):
            for contest in (each for each in contests if each.shape == shape):
                for setting in contest.settings[:1] if quick else contest.settings:
                    result = measure(contest, setting, QUICK_ROUNDS if quick else contest.rounds)
                    found[key(contest)].setdefault(str(setting), []).append(result)
    return {name: best([pooled(passes) for passes in settings.values()]) for name, settings in found.items()}


def best(measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    chosen = min(measured, key=lambda each: each["warm"])
    return {**chosen, "all": {each["setting"]: each["warm"] for each in measured}}


def pooled(passes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One measurement of all warm rounds of all passes."""
    rounds = [seconds for each in passes for seconds in each["rounds"]]
    return {
        **passes[0],
        "warm": statistics.median(rounds),
        "rounds": len(rounds),
        "passes": len(passes),
        "cold": statistics.median(each["cold"] for each in passes),
        "peak_bytes": max(each["peak_bytes"] for each in passes),
    }


def measure(contest: Contest, setting: Setting, rounds: int) -> dict[str, Any]:
    """What a process of that contender reports; `rounds` are the seconds of its warm ones."""
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
        found: dict[str, Any] = json.loads(out.read_text())
    seconds = list(warm(found["rounds"]))
    middle = statistics.median(seconds) * 1000
    print(f"{key(contest):24} {setting!s:24} warm {middle:10.2f} ms   cold {found['cold']:6.1f} s", flush=True)
    return {**found, "setting": str(setting), "rounds": seconds}


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
