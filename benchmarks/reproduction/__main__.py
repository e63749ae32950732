"""Collects what a running lab found (`--home`), and writes `docs/reproduction.md` from what is stored."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.publish import ROOT, replace_between_marks
from benchmarks.reproduction.report import FOLDER, chart_files, preset_marks, preset_section

RESULTS = ROOT / "benchmarks" / "results" / "reproduction"
PAGE = ROOT / "docs" / "reproduction.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduction", description=__doc__)
    parser.add_argument("--home", type=Path, help="TRIBUTARY_HOME of a running lab; otherwise only the page is written")
    home = parser.parse_args().home
    if home:
        collect_and_store(home)
    write_page()


def collect_and_store(home: Path) -> None:
    os.environ |= {"TRIBUTARY_HOME": str(home.resolve()), "DJANGO_SETTINGS_MODULE": "config.settings"}
    sys.path[:0] = [str(ROOT / "platform")]
    import django

    django.setup()
    from benchmarks.reproduction.collect import collect_results

    RESULTS.mkdir(parents=True, exist_ok=True)
    for preset, results in collect_results().items():
        (RESULTS / f"{preset}.json").write_text(results_text(results), encoding="utf-8")


def results_text(results: dict[str, Any]) -> str:
    """A line for each part, so that a difference between two collections can be read."""
    parts = ",\n".join(f"{json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in results.items())
    return f"{{\n{parts}\n}}\n"


def read_results() -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}


def write_page() -> None:
    folder = PAGE.parent / FOLDER
    folder.mkdir(exist_ok=True)
    for preset, results in read_results().items():
        replace_between_marks(PAGE, preset_section(preset, results), preset_marks(preset))
        for name, svg in chart_files(preset, results).items():
            (folder / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
