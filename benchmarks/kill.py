"""Kills a run with SIGKILL at random points, again and again, and compares its end with an undisturbed run.

    python -m benchmarks.kill [--kills 20] [--seed 0] [SPEC.yaml]

Exit code 0 if every number of every round and every bit of the final model are equal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.publish import ROOT

SPEC = """
dataset: {name: digits}
model: {name: mlp-50}
strategy: {name: scaffold}
clients: 20
fraction: 0.5
rounds: %d
local: {epochs: 2, batch_size: 16, optimizer: {name: sgd, lr: 0.05, momentum: 0.9}}
evaluation: {on: clients}
"""
EARLY = 0.2
"""Share of kills while the process is still starting or loading."""
START_SECONDS = 4.0


@dataclass
class Outcome:
    """What the outside saw: the last word on every round, and the end. Seconds differ between any two runs."""

    rounds: dict[int, Any] = field(default_factory=dict)
    parameters: str | None = None
    kills: int = 0

    def read(self, line: str) -> bool:
        """Takes a line of the run; true if it was a round."""
        if not line.endswith("\n"):
            return False
        event = json.loads(line)
        if event["event"] == "done":
            self.parameters = event["parameters_sha256"]
        if event["event"] != "round":
            return False
        metrics = {name: repr(value) for name, value in event["metrics"].items() if not name.startswith("seconds")}
        self.rounds[event["round"]] = (metrics, event["cohort"], repr(event["clients"]))
        return True


def engine_command(spec: Path, folder: Path, every: int = 3) -> list[str]:
    run = [sys.executable, "-m", "workers.engine", str(spec), "--json"]
    return [*run, "--checkpoint", str(folder), "--every", str(every)]


def start_run(spec: Path, folder: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        engine_command(spec, folder),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_undisturbed(spec: Path, folder: Path) -> Outcome:
    outcome = Outcome()
    follow_run(start_run(spec, folder), outcome)
    return outcome


def run_disturbed(spec: Path, folder: Path, kills: int, random: Random) -> Outcome:
    outcome = Outcome()
    while outcome.parameters is None and outcome.kills < kills:
        kill_somewhere(start_run(spec, folder), outcome, random)
    if outcome.parameters is None:
        follow_run(start_run(spec, folder), outcome)
    return outcome


def follow_run(process: subprocess.Popen[str], outcome: Outcome) -> None:
    """To the end; what is written to the error stream is short, so it cannot block."""
    with process:
        assert process.stdout
        assert process.stderr
        for line in process.stdout:
            outcome.read(line)
        complaint = process.stderr.read()
    if process.returncode:
        raise RuntimeError(complaint)


def kill_somewhere(process: subprocess.Popen[str], outcome: Outcome, random: Random) -> None:
    with process:
        assert process.stdout
        if random.random() < EARLY:
            time.sleep(random.uniform(0, START_SECONDS))
        else:
            rounds_left = random.randint(1, 6)
            while rounds_left and (line := process.stdout.readline()):
                rounds_left -= outcome.read(line)
            time.sleep(random.uniform(0, 0.03))
        process.kill()
        for line in process.stdout:
            outcome.read(line)
    outcome.kills += process.returncode < 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", type=Path, nargs="?")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spec = options.spec or folder / "spec.yaml"
        if options.spec is None:
            spec.write_text(SPEC % (20 * options.kills))
        expected = run_undisturbed(spec, folder / "undisturbed")
        outcome = run_disturbed(spec, folder / "disturbed", options.kills, Random(options.seed))
    same = (outcome.rounds, outcome.parameters) == (expected.rounds, expected.parameters)
    print(f"{outcome.kills} kills, {len(outcome.rounds)} rounds: {'equal to the bit' if same else 'DIFFERENT'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
