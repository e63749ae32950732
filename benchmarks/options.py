"""What every benchmark's command understands."""

from __future__ import annotations

import argparse


def benchmark_parser(name: str, text: str | None) -> argparse.ArgumentParser:
    """For `python -m NAME`: `--quick` measures too little to be kept, `--publish` only on a quiet machine."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--publish", action="store_true")
    return parser
