"""What results tell of the machine that they were measured on."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import psutil

from workers.engine.provenance import PACKAGES, git_commit, machine_facts
from workers.machine import package_versions

COMPARED = ("torch", "flwr", "ray")


def describe_machine() -> dict[str, Any]:
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"The machine is not quiet (load {load:.1f}); ratios are less certain.", file=sys.stderr)
    return {
        **{name: value for name, value in machine_facts().items() if name != "threads"},
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "load_before": load,
        "packages": {name: package_versions(PACKAGES)[name] for name in COMPARED} | {"pfl": "0.6.0"},
        "commit": git_commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }
