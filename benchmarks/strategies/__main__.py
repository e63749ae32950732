"""Measures what has no current result, then writes docs/strategies.md anew.

python -m benchmarks.strategies                    new and changed strategies only; some minutes for all of them
python -m benchmarks.strategies --again fedavg     these, whatever is known of them
python -m benchmarks.strategies --page             measures nothing
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.plan import ROOT
from benchmarks.report import publish
from benchmarks.strategies.measure import Found, built_in, measured, stale
from benchmarks.strategies.page import CATALOG, TABLE, catalog_text, marks, table_text

RESULTS = ROOT / "benchmarks" / "results" / "strategies.json"
PAGE = ROOT / "docs" / "strategies.md"


def main(arguments: Sequence[str] | None = None) -> int:
    given = parsed(arguments)
    known = read(RESULTS)
    names = [] if given.page else [name for name in built_in() if name in given.again or name in stale(known)]
    for name, found in measured(names, print):
        known[name] = found
        write(RESULTS, {each: known[each] for each in built_in() if each in known})
    written = [publish(PAGE, text, marks(mark)) for mark, text in texts(known).items()]
    return 0 if all(written) else 1


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", nargs="+", choices=built_in(), default=[], metavar="STRATEGY")
    parser.add_argument("--page", action="store_true")
    return parser.parse_args(arguments)


def texts(known: dict[str, Found]) -> dict[str, str]:
    return {TABLE: table_text(known), CATALOG: catalog_text()}


def read(path: Path) -> dict[str, Found]:
    return json.loads(path.read_text()) if path.exists() else {}


def write(path: Path, known: dict[str, Found]) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in known.items())
    path.write_text(f"{{\n{rows}\n}}\n")


if __name__ == "__main__":
    sys.exit(main())
