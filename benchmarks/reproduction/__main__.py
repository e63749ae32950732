"""Collects what a running lab found (`--home`), and writes `docs/reproduction.md` from what is stored."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.report import publish
from benchmarks.reproduction.report import FOLDER, marks, pictures, section

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "reproduction"
PAGE = ROOT / "docs" / "reproduction.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduction", description=__doc__)
    parser.add_argument("--home", type=Path, help="TRIBUTARY_HOME of a running lab; otherwise only the page is written")
    home = parser.parse_args().home
    if home:
        store(home)
    write()


def store(home: Path) -> None:
    os.environ |= {"TRIBUTARY_HOME": str(home.resolve()), "DJANGO_SETTINGS_MODULE": "config.settings"}
    sys.path[:0] = [str(ROOT / "platform")]
    import django

    django.setup()
    from benchmarks.reproduction.collect import collected

    RESULTS.mkdir(parents=True, exist_ok=True)
    for preset, told in collected().items():
        (RESULTS / f"{preset}.json").write_text(written(told), encoding="utf-8")


def written(told: dict[str, Any]) -> str:
    """A line for each part, so that a difference between two collections can be read."""
    parts = ",\n".join(f"{json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in told.items())
    return f"{{\n{parts}\n}}\n"


def stored() -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}


def write() -> None:
    folder = PAGE.parent / FOLDER
    folder.mkdir(exist_ok=True)
    for preset, told in stored().items():
        publish(PAGE, section(preset, told), marks(preset))
        for name, drawn in pictures(preset, told).items():
            (folder / name).write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
