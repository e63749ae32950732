"""How large a federation may be: seconds a round and peak memory by the number of its clients.

python -m benchmarks.clients                  all of them, about ten minutes; a fresh process for each
python -m benchmarks.clients --only femnist   one or some
python -m benchmarks.clients --quick          few rounds: does it still work?
python -m benchmarks.clients --publish        on a quiet machine: writes benchmarks/results/
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.publish import ROOT, keep_results

MARKS = ("<!-- clients: written by `python -m benchmarks.clients` -->", "<!-- /clients -->")
EARLY = 20
"""The round whose memory stands beside the last one's."""
LOGISTIC = {"model": {"name": "logistic"}, "strategy": {"name": "fedavg"}}


def synthetic(devices: int, rounds: int) -> dict[str, Any]:
    """Natural clients of 354 training samples on average, 1,000 a round, evaluated on what these hold out."""
    return LOGISTIC | {
        "dataset": {"name": "synthetic", "devices": devices},
        "partition": {"name": "natural"},
        "clients": None,
        "cohort": 1_000,
        "rounds": rounds,
        "evaluation": {"on": "clients", "clients": "cohort"},
    }


def femnist_sized(rounds: int) -> dict[str, Any]:
    """As many clients, samples and classes as FEMNIST has, of equal size; 10 a round, batch 20, one epoch, as FLUTE."""
    pictures = {"name": "blobs", "shape": [1, 28, 28], "classes": 62, "train": 732_849, "test": 81_428}
    return {
        "dataset": pictures,
        "model": {"name": "cnn-32-64-512"},
        "strategy": {"name": "fedavg"},
        "clients": 3_597,
        "cohort": 10,
        "rounds": rounds,
        "local": {"epochs": 1, "batch_size": 20, "optimizer": {"name": "sgd", "lr": 0.1}},
        "evaluation": {"every": 50},
    }


SPECS: dict[str, tuple[str, dict[str, Any]]] = {
    "10k": ("10,000 clients, 1,000 a round", synthetic(10_000, EARLY)),
    "100k": ("100,000 clients, 1,000 a round", synthetic(100_000, EARLY)),
    "million": ("1,000,000 clients, 1,000 a round", synthetic(1_000_000, 200)),
    "femnist": ("3,597 clients of FEMNIST's size, 10 a round", femnist_sized(50)),
}


def small(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Few rounds of few clients, and fewer samples where they lie in memory."""
    fewer = {"train": 36_000, "test": 1_000} if spec["dataset"]["name"] == "blobs" else {}
    return {**spec, "rounds": 2, "cohort": 10, "dataset": {**spec["dataset"], **fewer}}


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Of this process: seconds to the first round, medians of a round's seconds by the clock and of the processors, and
    memory after round 20 and at its peak."""
    from workers.engine import simulate

    begun = time.perf_counter()
    seconds: list[float] = []
    processor: list[float] = []
    samples: list[float] = []
    moments: dict[str, float] = {}

    def on_round(record: Any) -> None:
        processor.append(time.process_time())
        if not record.round:
            moments["prepare_seconds"] = time.perf_counter() - begun
            return
        seconds.append(record.metrics["seconds"])
        samples.append(record.metrics["samples_seen"])
        if record.round == EARLY:
            moments["early_peak_mb"] = peak_megabytes()

    simulate(spec, on_round=on_round, device="cpu")
    return {
        **moments,
        "processor_seconds": statistics.median(later - earlier for earlier, later in pairwise(processor)),
        "rounds": len(seconds),
        "round_seconds": statistics.median(seconds),
        "samples_a_round": statistics.mean(samples),
        "peak_mb": peak_megabytes(),
    }


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_in_process(name: str, *, quick: bool) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.clients", "--measure", name, *(["--quick"] if quick else [])]
    answer = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return result


def table(results: Mapping[str, Mapping[str, float]]) -> str:
    lines = [
        "| federation | rounds | seconds to the first round | seconds a round | processor seconds a round | "
        f"samples a round | peak memory after {EARLY} rounds | after all |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, each in results.items():
        early = f"{each['early_peak_mb']:,.0f} MB" if "early_peak_mb" in each else "–"
        lines.append(
            f"| {SPECS[name][0]} | {each['rounds']} | {each['prepare_seconds']:.1f} | {each['round_seconds']:.2f} | "
            f"{each['processor_seconds']:.2f} | {each['samples_a_round']:,.0f} | {early} | {each['peak_mb']:,.0f} MB |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SPECS, default=list(SPECS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--measure", choices=SPECS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        spec = SPECS[options.measure][1]
        print(json.dumps(measure(small(spec) if options.quick else spec)))
        return 0
    machine = describe_machine(publish=options.publish)
    results = {name: measure_in_process(name, quick=options.quick) for name in options.only}
    text = f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB.\n\n{table(results)}"
    print(text)
    if options.quick:
        print("quick: 10 clients a round, whatever the table says, and few samples")
        return 0
    page = ROOT / "docs" / "benchmarks.md"
    numbers = {"machine": machine, "clients": results}
    keep_results("clients", numbers, text, publish=options.publish, page=page, marks=MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
