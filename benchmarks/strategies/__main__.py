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

from benchmarks.publish import ROOT, replace_between_marks
from benchmarks.strategies.measure import StrategyResult, built_in_strategies, measure_strategies, stale_strategies
from benchmarks.strategies.page import CATALOG, TABLE, catalog_text, strategy_marks, table_text

RESULTS = ROOT / "benchmarks" / "results" / "strategies.json"
PAGE = ROOT / "docs" / "strategies.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    results = read_results(RESULTS)
    names = (
        []
        if options.page
        else [name for name in built_in_strategies() if name in options.again or name in stale_strategies(results)]
    )
    for name, result in measure_strategies(names, print):
        results[name] = result
        write_results(RESULTS, {each: results[each] for each in built_in_strategies() if each in results})
    written = [replace_between_marks(PAGE, text, strategy_marks(mark)) for mark, text in page_texts(results).items()]
    return 0 if all(written) else 1


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", nargs="+", choices=built_in_strategies(), default=[], metavar="STRATEGY")
    parser.add_argument("--page", action="store_true")
    return parser.parse_args(arguments)


def page_texts(results: dict[str, StrategyResult]) -> dict[str, str]:
    return {TABLE: table_text(results), CATALOG: catalog_text()}


def read_results(path: Path) -> dict[str, StrategyResult]:
    return json.loads(path.read_text()) if path.exists() else {}


def write_results(path: Path, results: dict[str, StrategyResult]) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(result)}" for name, result in results.items())
    path.write_text(f"{{\n{rows}\n}}\n")


if __name__ == "__main__":
    sys.exit(main())
