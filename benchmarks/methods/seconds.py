"""What composition, robust aggregations and attacks add to a round, as ratios to FedAvg's round in one run.

python -m benchmarks.methods.seconds              some minutes; writes benchmarks/results/latest/
python -m benchmarks.methods.seconds --publish    quiet machines only: benchmarks/results/ and docs/methods.md

Runs take turns, so that whatever else the machine does falls on all of them; of each the fastest round counts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.publish import ROOT, benchmark_parser, keep_results
from workers.engine import simulate

PAGE = ROOT / "docs" / "methods.md"
MARKS = "<!-- seconds: written by `python -m benchmarks.methods.seconds --publish` -->", "<!-- /seconds -->"
PASSES, ROUNDS = 5, 3
CNN: dict[str, Any] = {
    "dataset": {"name": "blobs", "shape": [3, 32, 32], "classes": 10, "train": 5000, "test": 10},
    "model": {"name": "cnn", "widths": [32, 64], "dense": [64], "kernel": 3},
    "partition": {"name": "iid"},
    "strategy": {"name": "fedavg"},
    "clients": 100,
    "rounds": ROUNDS,
    "local": {"epochs": 1, "batch_size": 10, "optimizer": {"name": "sgd", "lr": 0.05}},
}
FLIP = {"name": "sign-flip", "share": 0.2}
VARIANTS: dict[str, dict[str, Any]] = {
    "FedAvg": {},
    "composed, all defaults": {"strategy": {"name": "composed"}},
    "FedProx": {"strategy": {"name": "fedprox", "mu": 0.1}},
    "composed with FedProx' clients": {"strategy": {"name": "composed", "client": {"name": "fedprox", "mu": 0.1}}},
    "FedMedian": {"strategy": {"name": "fedmedian"}},
    "FedTrimmedAvg": {"strategy": {"name": "fedtrimmedavg"}},
    "Krum": {"strategy": {"name": "krum", "malicious": 20}},
    "Multi-Krum": {"strategy": {"name": "multikrum", "malicious": 20}},
    "Bulyan": {"strategy": {"name": "bulyan", "malicious": 20}},
    "RFA": {"strategy": {"name": "rfa"}},
    "sign-flip, a fifth of the clients": {"attack": FLIP},
    "alie, a fifth of the clients": {"attack": {"name": "alie", "share": 0.2}},
    "label-flip, a fifth of the clients": {"attack": {"name": "label-flip", "share": 0.2}},
}
BASES = {"composed with FedProx' clients": "FedProx"}
GOALS = {"composed, all defaults": 1.05, "composed with FedProx' clients": 1.05}
GOAL = 1.2


def main(arguments: Sequence[str] | None = None) -> int:
    options = benchmark_parser("benchmarks.methods.seconds", __doc__).parse_args(arguments)
    machine = describe_machine(publish=options.publish)
    seconds = measure_rounds()
    text = seconds_table(seconds)
    print(f"\n{text}\n")
    results = {"machine": machine, "seconds": {name: round(value, 4) for name, value in seconds.items()}}
    keep_results("methods-seconds", results, text, publish=options.publish, page=PAGE, marks=MARKS)
    return 0


def measure_rounds() -> dict[str, float]:
    fastest: dict[str, float] = {}
    for _ in range(PASSES):
        for name, fields in VARIANTS.items():
            history = simulate({**CNN, **fields}, device="cpu").history
            seconds = min(round_seconds(record.metrics) for record in history[1:])
            fastest[name] = min(seconds, fastest.get(name, seconds))
    return fastest


def round_seconds(metrics: Any) -> float:
    """Without the evaluation, which is the same for all."""
    return float(metrics["seconds"] - metrics["seconds_evaluate"])


def seconds_table(seconds: dict[str, float]) -> str:
    rows = [
        f"| {name} | {value:.2f} s | {value / seconds[BASES.get(name, 'FedAvg')]:.2f} | {goal_text(name)} |"
        for name, value in seconds.items()
    ]
    head = "| 100 clients x 50 samples, CNN 32-64-64 | a round | of its base | goal, at most |"
    return "\n".join([head, "| --- | ---: | ---: | ---: |", *rows])


def goal_text(name: str) -> str:
    return "" if name in ("FedAvg", "FedProx") else f"{GOALS.get(name, GOAL):.2f}"


if __name__ == "__main__":
    sys.exit(main())
