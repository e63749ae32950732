"""What every contender process reports: when its rounds ended, and how much memory it took at most."""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.engine.shapes import SHAPES, Shape

STARTED = "TRIBUTARY_BENCH_STARTED"


@dataclass
class Clock:
    """`tick` before the first round and after each; the parent's start time makes the first round cold."""

    ticks: list[float] = field(default_factory=list)

    def tick(self) -> None:
        self.ticks.append(time.time())

    def report(self, path: Path, **facts: object) -> None:
        started = float(os.environ[STARTED])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        rounds = [after - before for before, after in zip(self.ticks, self.ticks[1:], strict=False)]
        result = {"cold": self.ticks[1] - started, "rounds": rounds, "peak_bytes": peak, **facts}
        path.write_text(json.dumps(result))


@dataclass(frozen=True)
class Task:
    """`test` samples are evaluated after every round; only Flower's contender has any."""

    shape: Shape
    rounds: int
    threads: int
    processes: int
    out: Path
    test: int = 0


def parse_task(arguments: Sequence[str] | None = None) -> Task:
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--test", type=int, default=0)
    options = parser.parse_args(arguments)
    return Task(**{**vars(options), "shape": SHAPES[options.shape]})
