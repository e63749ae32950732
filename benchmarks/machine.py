"""What results tell of the machine that they were measured on, and whether it was quiet enough to publish them."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from workers.engine.provenance import PACKAGES, git_commit, machine_facts
from workers.machine import package_versions, processor_name

COMPARED = ("torch", "flwr", "ray")
QUIET_SECONDS = 5.0
BUSY_LIMIT = 0.05
"""Of all processors together, while this process sleeps: what others take is missing to whoever is measured."""


def describe_machine(*, publish: bool = False) -> dict[str, Any]:
    """Measures first what others use, and ends the command where that is too much to publish."""
    busy = busy_share()
    if busy > BUSY_LIMIT:
        refuse_or_warn(busy, publish=publish)
    return {
        **{name: value for name, value in machine_facts().items() if name != "threads"},
        "cpu": processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "busy_before": round(busy, 3),
        "packages": {name: package_versions(PACKAGES)[name] for name in COMPARED} | {"pfl": "0.6.0"},
        "commit": git_commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def processor(source: Path = Path("/proc/cpuinfo")) -> str:
    """With its generation where that is told: rented machines of several generations all say "AMD EPYC"."""
    text = source.read_text() if source.exists() else ""
    found = [re.search(rf"^{fact}\s*:\s*(\d+)$", text, re.MULTILINE) for fact in ("cpu family", "model")]
    numbers = [match[1] for match in found if match]
    name = processor_name(source)
    return f"{name} (family {numbers[0]}, model {numbers[1]})" if len(numbers) == 2 else name


def busy_share(seconds: float = QUIET_SECONDS) -> float:
    return float(psutil.cpu_percent(interval=seconds) / 100)


def refuse_or_warn(busy: float, *, publish: bool) -> None:
    use = f"Others use {busy:.0%} of this machine's processors ({BUSY_LIMIT:.0%} may be used)"
    if publish:
        raise SystemExit(f"{use}: nothing was measured. Publish when it is quiet, or leave --publish out.")
    print(f"{use}: ratios are less certain.", file=sys.stderr)
