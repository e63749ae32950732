"""The files that docs/plugins.md shows, and files that are wrong in one way each."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "plugins.md"
SHOWN = re.compile(r"^`([\w/]+\.py)`\n\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

GOOD = """
from workers.component import Strategy

class {title}(Strategy):
    '''Does as the others do.'''

    name = "{name}"
    label = "{title}"

    def build(self, params, context):
        raise AssertionError("never built")
"""


def documented(folder: Path) -> list[str]:
    """Writes what the page shows below the folder; returns the files' names."""
    shown = SHOWN.findall(PAGE.read_text(encoding="utf-8"))
    for name, text in shown:
        write(folder, name, text)
    return [name for name, _ in shown]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def good(name: str) -> str:
    return GOOD.format(name=name, title=name.title())
