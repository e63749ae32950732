"""How a figure for a paper looks: its width, its letters and its inks, as people choose them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MILLIMETRES = {"column": 88.9, "text": 181.9}
"""Of a column and of the text of a two-column page, as IEEE's and nearly ACM's classes have them."""
NARROWEST, WIDEST = 40.0, 300.0
SMALLEST, LARGEST = 5.0, 14.0
DEFAULT_SIZE = 8.0
FONTS = {"serif": "Times", "modern": "Computer Modern", "sans": "Sans serif"}
INKS = {"colour": "colours that stay apart in print", "grey": "black and grey"}
FIGURE_FORMATS = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}
PNG_DPI = 300


@dataclass(frozen=True)
class FigureStyle:
    width: float = MILLIMETRES["column"]
    """In millimetres."""
    size: float = DEFAULT_SIZE
    """Of letters, in points."""
    font: str = "serif"
    ink: str = "colour"

    @property
    def inches(self) -> float:
        return self.width / 25.4

    @property
    def spans_columns(self) -> bool:
        """Too wide for one column of a two-column page."""
        return self.width > (MILLIMETRES["column"] + MILLIMETRES["text"]) / 2

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def figure_style(query: Mapping[str, str]) -> FigureStyle:
    """From an address: `paper_width` is `column`, `text` or millimetres; what is not offered was not asked for."""
    width = query.get("paper_width", "column")
    return FigureStyle(
        MILLIMETRES.get(width) or bounded(width, NARROWEST, WIDEST, MILLIMETRES["column"]),
        bounded(query.get("paper_size", ""), SMALLEST, LARGEST, DEFAULT_SIZE),
        *(chosen(query.get("paper_font", ""), FONTS), chosen(query.get("paper_ink", ""), INKS)),
    )


def bounded(text: str, least: float, most: float, otherwise: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return otherwise
    return min(most, max(least, value)) if value == value else otherwise


def chosen(name: str, offered: Mapping[str, str]) -> str:
    return name if name in offered else next(iter(offered))
