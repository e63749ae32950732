"""Several runs at once on one GPU beside one: `python -m benchmarks.gpu`. Says so where there is no GPU.

python -m benchmarks.gpu                    some minutes on a card; writes benchmarks/results/latest/
python -m benchmarks.gpu --quick            few rounds
python -m benchmarks.gpu --publish          on a quiet machine: writes benchmarks/results/ and docs/benchmarks.md
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from benchmarks.engine.contenders.tributary import run_spec
from benchmarks.engine.shapes import SHAPES
from benchmarks.machine import describe_machine
from benchmarks.publish import ROOT, benchmark_parser, keep_results

MARKS = ("<!-- gpu: written by `python -m benchmarks.gpu` -->", "<!-- /gpu -->")
PAGE = ROOT / "docs" / "benchmarks.md"
NO_GPU = "No GPU here: nothing was measured."
RUNS_AT_ONCE = (1, 2, 4)
ROUNDS = {"har": 40, "logistic": 200, "cnn": 20}
QUICK_ROUNDS = 3
HEAD = "| federation | runs at once | rounds a second, all together | beside one run |"
RULE = "| --- | ---: | ---: | ---: |"
# It says when it is warm, starts with the others, and says when it is done.
RUNNER = """
import json, sys
from workers.engine import simulate
job = json.loads(sys.argv[1])
simulate({**job["spec"], "rounds": 1}, device=job["device"])
print("warm", flush=True)
sys.stdin.readline()
simulate({**job["spec"], "seed": job["seed"]}, device=job["device"])
print("done", flush=True)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = benchmark_parser("benchmarks.gpu", __doc__).parse_args(arguments)
    if not torch.cuda.is_available():
        print(NO_GPU)
        return 0
    machine = {**describe_machine(publish=options.publish), "gpu": torch.cuda.get_device_name(0)}
    results = {"machine": machine, "shapes": measure_shapes(quick=options.quick)}
    text = gpu_table(results)
    print(f"\n{text}\n")
    if not options.quick:
        keep_results("gpu", results, text, publish=options.publish, page=PAGE, marks=MARKS)
    return 0


def measure_shapes(*, quick: bool, device: str = "cuda:0") -> dict[str, dict[str, float]]:
    """By federation and number of runs at once: rounds a second of all of them."""
    return {
        name: {
            str(count): rounds_a_second(name, count, QUICK_ROUNDS if quick else rounds, device)
            for count in RUNS_AT_ONCE
        }
        for name, rounds in ROUNDS.items()
    }


def rounds_a_second(shape: str, count: int, rounds: int, device: str) -> float:
    """From the moment all are warm to the end of the last."""
    spec = run_spec(SHAPES[shape], rounds)
    processes = [start_runner({"spec": spec, "device": device, "seed": seed}) for seed in range(count)]
    try:
        for process in processes:
            read_line(process)
        begun = time.perf_counter()
        for process in processes:
            process.stdin.write("go\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
        for process in processes:
            read_line(process)
        return count * rounds / (time.perf_counter() - begun)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def start_runner(job: Mapping[str, Any]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUNNER, json.dumps(job)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read_line(process: subprocess.Popen[str]) -> None:
    """An empty line is the end of the process."""
    if not process.stdout.readline():  # type: ignore[union-attr]
        raise SystemExit("A run failed: what it said is above.")


def gpu_table(results: Mapping[str, Any]) -> str:
    rows = [
        f"| {SHAPES[name].title if count == '1' else ''} | {count} | {speed:.1f} | {speed / speeds['1']:.2f}x |"
        for name, speeds in results["shapes"].items()
        for count, speed in speeds.items()
    ]
    machine = results["machine"]
    line = f"Measured on {machine['gpu']}, torch {machine['packages']['torch']}, Python {machine['python']}."
    return "\n".join([line, "", HEAD, RULE, *rows])


if __name__ == "__main__":
    sys.exit(main())
