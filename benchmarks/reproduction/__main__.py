"""The reproduction report, `docs/reproduction.md`, and the stored runs that it is made of.

python -m benchmarks.reproduction                               writes page, pictures and the presets' counts anew
python -m benchmarks.reproduction --home HOME                   first stores what a running lab has computed since
python -m benchmarks.reproduction --home HOME --launch NAME     brings the stored runs into the lab, then launches a
                                                                study of benchmarks/reproduction/studies/ there: only
                                                                what is not stored yet is computed
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.publish import ROOT, replace_between_marks
from benchmarks.reproduction.earlier import earlier_chart_files, earlier_section
from benchmarks.reproduction.measured import Reproduction, reproduce
from benchmarks.reproduction.report import (
    FOLDER,
    SUMMARY_MARKS,
    chart_files,
    preset_marks,
    preset_section,
    summary_table,
    verdict_counts,
)
from experiments.presets.preset import FOLDER as PRESETS
from experiments.presets.preset import presets
from experiments.stored_runs.files import read_folder

RESULTS = ROOT / "benchmarks" / "results" / "reproduction"
STUDIES = Path(__file__).parent / "studies"
PAGE = ROOT / "docs" / "reproduction.md"
VERDICTS = PRESETS / "verdicts.json"


def main() -> int:
    options = parse_arguments()
    if options.launch:
        return launch_studies(options.home, options.launch)
    if options.home and manage(options.home, "stored_runs", "save", str(RESULTS)):
        return 1
    write_page()
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = sorted(path.stem for path in STUDIES.glob("*.yaml"))
    parser.add_argument("--home", type=Path, help="TRIBUTARY_HOME of a running lab")
    parser.add_argument("--launch", nargs="+", choices=names, default=[], metavar="NAME", help=", ".join(names))
    options = parser.parse_args()
    if options.launch and not options.home:
        parser.error("--launch needs --home, the TRIBUTARY_HOME of a running lab")
    return options


def launch_studies(home: Path, names: Sequence[str]) -> int:
    """Not 0 where one was refused."""
    failed = manage(home, "stored_runs", "load", str(RESULTS)) if any(RESULTS.glob("*.parquet")) else 0
    for name in names:
        failed = failed or manage(home, "launch", str(STUDIES / f"{name}.yaml"))
    return failed


def manage(home: Path, *arguments: str) -> int:
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "TRIBUTARY_HOME": str(home.resolve())}).returncode


def read_reproductions() -> list[Reproduction]:
    stored = read_folder(RESULTS)
    return [reproduce(preset, stored[name]) for name, preset in presets().items() if name in stored]


def read_earlier(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Of the studies without stored runs."""
    paths = [path for path in sorted(RESULTS.glob("*.json")) if path.stem not in names]
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def write_page() -> None:
    reproductions = read_reproductions()
    names = [each.preset.name for each in reproductions]
    replace_between_marks(PAGE, summary_table(reproductions), SUMMARY_MARKS)
    VERDICTS.write_text(json.dumps(verdict_counts(reproductions), indent=2) + "\n", encoding="utf-8")
    for each in reproductions:
        write_section(each.preset.name, preset_section(each), chart_files(each))
    for name, results in read_earlier(names).items():
        write_section(name, earlier_section(name, results), earlier_chart_files(name, results))


def write_section(preset: str, text: str, pictures: Mapping[str, str]) -> None:
    """With its pictures in the place of those it had."""
    folder = PAGE.parent / FOLDER
    folder.mkdir(exist_ok=True)
    replace_between_marks(PAGE, text, preset_marks(preset))
    for path in folder.glob(f"{preset}-*.svg"):
        path.unlink()
    for name, svg in pictures.items():
        (folder / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
