"""Where results go: published ones into benchmarks/results/ and between marks in the README and docs/, others aside."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.ratios import Ratio, lower_ratios

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
LATEST = RESULTS / "latest"
"""What was measured without `--publish`; git ignores it."""


def store_results(name: str, results: Mapping[str, Any], text: str, *, publish: bool) -> None:
    folder = RESULTS if publish else LATEST
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n")
    (folder / f"{name}.md").write_text(text + "\n")
    print(f"{(folder / name).relative_to(ROOT)}.json and .md: written")


def keep_results(
    name: str, results: Mapping[str, Any], text: str, *, publish: bool, page: Path, marks: tuple[str, str]
) -> None:
    """In benchmarks/results/ and as the page's table where they are published."""
    store_results(name, results, text, publish=publish)
    if publish:
        publish_table(page, text, marks)


def warn_of_lower_ratios(
    name: str, results: Mapping[str, Any], ratios_of: Callable[[Mapping[str, Any]], Mapping[str, Ratio]]
) -> None:
    """Beside what was published last, where anything was; to be called before it is written over."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return
    published = json.loads(path.read_text())
    for line in lower_ratios(ratios_of(results), ratios_of(published)):
        print(f"WARNING, slower than before: {line}{other_machine(results, published)}")


def other_machine(results: Mapping[str, Any], published: Mapping[str, Any]) -> str:
    facts = ("cpu", "cores")
    same = all(results["machine"].get(fact) == published["machine"].get(fact) for fact in facts)
    return "" if same else f" (on another machine: {published['machine']['cpu']})"


def publish_table(page: Path, text: str, marks: tuple[str, str]) -> None:
    written = replace_between_marks(page, text, marks)
    print(f"{page.name}: {'table written' if written else 'has no place for the table'}")


def replace_between_marks(path: Path, text: str, marks: tuple[str, str]) -> bool:
    """Replaces what stands between the marks; false where there are none."""
    start, end = marks
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(before):
        return False
    path.write_text(pattern.sub(lambda _: f"{start}\n{text}\n{end}", before), encoding="utf-8")
    return True


def benchmark_parser(name: str, text: str | None) -> argparse.ArgumentParser:
    """For `python -m NAME`: `--quick` measures too little to be kept, `--publish` only on a quiet machine."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--publish", action="store_true")
    return parser
