"""The files that docs/plugins.md shows, and files that are wrong in one way each."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[4] / "docs" / "plugins.md"
EXAMPLE = re.compile(r"^`([\w/]+\.py)`\n\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

GOOD = """
from workers.plugin import Strategy

class {title}(Strategy):
    '''Does as the others do.'''

    name = "{name}"
    label = "{title}"

    def build(self, params, context):
        raise AssertionError("never built")
"""

FRAGILE = """
from pathlib import Path
import numpy as np
from workers.plugin import Arrays, Dataset, DatasetFacts

SWITCH = Path("{switch}")

def fail(what):
    if SWITCH.exists() and what in SWITCH.read_text().split():
        raise ValueError("the disk has gone")

class Fragile(Dataset):
    '''Works until it does not.'''
    name = "fragile"
    label = "Fragile"

    def facts(self, params):
        fail("facts")
        return DatasetFacts((1, 2, 2), 2, 8, 4)

    def load(self, params):
        fail("load")
        x, y = np.zeros((12, 1, 2, 2), np.float32), np.arange(12) % 2
        return Arrays(x[:8], y[:8], x[8:], y[8:])

    def checksum(self, params):
        fail("checksum")
        return "one"

    def available(self, params):
        fail("available")
        return None

    def editions(self):
        fail("editions")
        return [self.Params()]

    def loads_at_once(self, params):
        fail("loads_at_once")
        return True
"""


def write_documented(folder: Path) -> list[str]:
    """Writes what the page shows below the folder; returns the files' names."""
    examples = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
    for name, text in examples:
        write(folder, name, text)
    return [name for name, _ in examples]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def good(name: str) -> str:
    return GOOD.format(name=name, title=name.title())
