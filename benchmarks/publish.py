"""Where results go: files in benchmarks/results/, and tables between marks in the README and docs/."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def store_results(name: str, results: Mapping[str, Any], text: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n")
    (RESULTS / f"{name}.md").write_text(text + "\n")


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
