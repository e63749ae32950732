"""`make bench`: every benchmark, one after the other, each in a process of its own.

python -m benchmarks                        everything, about an hour; writes benchmarks/results/latest/
python -m benchmarks --only study engine    some of them
python -m benchmarks --quick                small numbers: does everything still work?
python -m benchmarks --publish              on a quiet machine: writes benchmarks/results/ and the tables of the pages
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec

from benchmarks.publish import ROOT, benchmark_parser

PARTS = ("engine", "study", "clients", "tracking", "logged", "platform", "export", "readers", "compare", "gpu")


def main(arguments: Sequence[str] | None = None) -> int:
    """Not 0 where a part failed or refused; the others are measured all the same."""
    options = parse_arguments(arguments)
    flags = [flag for flag, given in (("--quick", options.quick), ("--publish", options.publish)) if given]
    missing = [part for part in options.only or PARTS if not run_part(part, flags)]
    if missing:
        print(f"Not measured: {', '.join(missing)}. What they said is above.", file=sys.stderr)
    return 1 if missing else 0


def run_part(part: str, flags: Sequence[str]) -> bool:
    own = ["--paint"] if part == "compare" and find_spec("playwright") else []
    print(f"\n== {part}", flush=True)
    begun = time.monotonic()
    process = subprocess.run([sys.executable, "-m", f"benchmarks.{part}", *flags, *own], cwd=ROOT)
    print(f"== {part}: {(time.monotonic() - begun) / 60:.1f} minutes", flush=True)
    return process.returncode == 0


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = benchmark_parser("benchmarks", __doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[])
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
