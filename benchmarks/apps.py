"""Flower apps: how soon the first round is there, against Flower's own simulation, and kills at random moments.

python -m benchmarks.apps                    seconds to the first round and to the end, taking turns
python -m benchmarks.apps --kills 10         ten kills a run at random moments: equal to the bit, or exit code 1
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from benchmarks.machine import describe_machine
from tests.workers.apps.driver import AppProcess, AppResult, example, run_app
from tests.workers.apps.reference import run_on_flower

APP = "numpy-least-squares"
KILLED = ("numpy-global-random", "client-state", "strategy-subclass", "legacy-numpyclient", "torch-digits")
ROUNDS = 120
TURNS = 3


def seconds_here(folder: Path) -> tuple[float, float]:
    """To the first round and to the end, from the moment a worker has the run."""
    began = time.perf_counter()
    process = AppProcess(example(APP), folder)
    process.wait_for_rounds(1)
    first = time.perf_counter() - began
    process.wait()
    return first, time.perf_counter() - began


def seconds_on_flower() -> float:
    began = time.perf_counter()
    run_on_flower(APP)
    return time.perf_counter() - began


def compare() -> None:
    describe_machine()
    first, ours, theirs = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(TURNS):
            to_first, to_end = seconds_here(Path(folder, str(turn)))
            first.append(to_first)
            ours.append(to_end)
            theirs.append(seconds_on_flower())
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"{APP}, 5 clients, 3 rounds, median of {TURNS} turns")
    print(f"  Tributary: first round after {statistics.median(first):.2f} s, all after {statistics.median(ours):.2f} s")
    print(f"  Flower's own simulation: all after {statistics.median(theirs):.1f} s, {ratio:.0f} times as long")


def killed_run(name: str, kills: int, folder: Path, moments: Random, seconds: float) -> AppResult:
    """Killed after parts of the whole run's time, again and again, then left alone."""
    journal: str | None = None
    for _ in range(kills):
        attempt = AppProcess(example(name), folder, seed=1, config={"num-server-rounds": ROUNDS}, resume=journal)
        attempt.run_for(moments.uniform(0.2, 1.0) * seconds)
        attempt.close()
        if attempt.result.end:
            return attempt.result
        journal = attempt.result.journal or journal
    return run_app(example(name), folder, seed=1, config={"num-server-rounds": ROUNDS}, resume=journal)


def kill(kills: int, seed: int) -> bool:
    moments, equal = Random(seed), True
    for name in KILLED:
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            whole = run_app(example(name), Path(folder, "whole"), seed=1, config={"num-server-rounds": ROUNDS})
            seconds = time.perf_counter() - began
            result = killed_run(name, kills, Path(folder, "killed"), moments, seconds / 2)
            same = result.end.get("event") == "done" and result.numbers == whole.numbers
            print(f"{name}: {kills} kills, {'equal to the bit' if same else 'DIFFERENT'}", flush=True)
            equal &= same
    return equal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.kills:
        return 0 if kill(options.kills, options.seed) else 1
    compare()
    return 0


if __name__ == "__main__":
    sys.exit(main())
