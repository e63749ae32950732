"""The engine without the platform: `python -m benchmarks.study.engine_alone JOB OUT`, run after run in a warm process.

JOB is JSON with `specs`; OUT gets for each run `seconds` and `accuracy`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def time_run(spec: Mapping[str, Any]) -> dict[str, Any]:
    from workers.engine import simulate

    begun = time.perf_counter()
    result = simulate(spec, device="cpu")
    return {"seconds": time.perf_counter() - begun, "accuracy": result.history[-1].metrics.get("accuracy")}


def main(job_file: str, out: str) -> None:
    """Every kind of local training once before the clock runs, for caches to fill."""
    import torch

    torch.set_num_threads(1)
    specs = json.loads(Path(job_file).read_text())["specs"]
    for spec in {json.dumps(spec["local"]): spec for spec in specs}.values():
        time_run({**spec, "rounds": 1})
    Path(out).write_text(json.dumps([time_run(spec) for spec in specs]))


if __name__ == "__main__":
    main(*sys.argv[1:])
