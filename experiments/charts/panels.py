"""Small multiples: a grid of panels with shared axes, titles at the edges, and nothing but data inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

PANELS_ACROSS = 3
"""Panels of one axis stand in rows of so many."""
PANEL_HEIGHT, FRAME = 210, 64
LEAST_HEIGHT = 560
"""Of several rows together: two are taller than many."""
GAP_ACROSS = 0.045
LINE_BREAK = "<br>"
TITLE_GAP, PLAIN_GAP, TITLE_LINE, TICK_LINE = 36, 12, 16, 20
TITLE_LETTERS, NARROW_LETTERS = 126, 46
"""Over all panels of a row, and over the only one of a narrow screen."""


@dataclass(frozen=True)
class PanelGrid:
    """The words of rows and columns; one empty word where there is only one."""

    rows: tuple[str, ...] = ("",)
    columns: tuple[str, ...] = ("",)
    most_across: int = PANELS_ACROSS
    own_x: bool = False
    """Each panel has its own range of x, and ticks that say so."""

    @property
    def wrapped(self) -> bool:
        return len(self.rows) == 1 and len(self.columns) > self.most_across

    @property
    def across(self) -> int:
        """As even as can be where they are wrapped: four panels are two rows of two."""
        if not self.wrapped:
            return len(self.columns)
        return -(-self.panels // -(-self.panels // self.most_across))

    @property
    def titles(self) -> list[str]:
        """Of the columns, in as many lines as their width takes."""
        letters = NARROW_LETTERS if self.most_across == 1 else TITLE_LETTERS // self.across
        return [wrap_title(column, letters) for column in self.columns]

    @property
    def lines(self) -> int:
        """Of the longest title."""
        return max(title.count(LINE_BREAK) for title in self.titles) + 1

    @property
    def panels(self) -> int:
        return len(self.rows) * len(self.columns)

    @property
    def down(self) -> int:
        return -(-self.panels // self.across)

    @property
    def height(self) -> int | None:
        """In pixels where there are several rows; one row has the page's own height."""
        return None if self.down == 1 else max(PANEL_HEIGHT * self.down, LEAST_HEIGHT) + FRAME

    def place(self, row: str, column: str) -> int | None:
        """From 1 at the top left; None for a panel that is not drawn."""
        if row not in self.rows or column not in self.columns:
            return None
        return self.rows.index(row) * len(self.columns) + self.columns.index(column) + 1

    def at(self, place: int) -> tuple[int, int]:
        return divmod(place - 1, self.across)

    def domain(self, place: int) -> tuple[list[float], list[float]]:
        """Of the place's x and y axis, as shares of the whole."""
        row, column = self.at(place)
        titles = TITLE_GAP + TITLE_LINE * (self.lines - 1) if self.wrapped else PLAIN_GAP
        gap = (titles + TICK_LINE * self.own_x) / (self.height or PANEL_HEIGHT)
        return domain_span(column, self.across, GAP_ACROSS), domain_span(self.down - 1 - row, self.down, gap)


def panel_grid(
    places: Sequence[tuple[str, str]], most_across: int = PANELS_ACROSS, *, own_x: bool = False
) -> PanelGrid:
    rows, columns = (tuple(dict.fromkeys(each)) for each in zip(*places, strict=True)) if places else ((), ())
    return PanelGrid(rows or ("",), columns or ("",), most_across=most_across, own_x=own_x)


def wrap_title(text: str, letters: int) -> str:
    """Broken between its words of axes, where more than so many letters would stand in a line."""
    lines: list[str] = []
    for part in text.split(LINE_BREAK):
        line = ""
        for word in part.split(" · "):
            longer = f"{line} · {word}" if line else word
            if line and len(longer) > letters:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return LINE_BREAK.join(lines)


def domain_span(place: int, of: int, gap: float) -> list[float]:
    width = (1 - gap * (of - 1)) / of
    start = place * (width + gap)
    return [round(start, 6), round(min(1.0, start + width), 6)]


def axis_suffix(place: int) -> str:
    return "" if place == 1 else str(place)


def on_panel(trace: dict[str, Any], place: int) -> dict[str, Any]:
    return trace if place == 1 else {**trace, "xaxis": f"x{place}", "yaxis": f"y{place}"}


def panel_layout(grid: PanelGrid, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    """Every panel has the ranges of the first, unless its x is its own; only the outer ones are labelled."""
    margin = {"t": 12 + TITLE_LINE * grid.lines if any(grid.columns) else 12, "r": 28 if any(grid.rows) else 12}
    layout: dict[str, Any] = {"annotations": list(panel_titles(grid)), "margin": margin}
    for place in range(1, grid.panels + 1):
        across, up = grid.domain(place)
        lowest, leftmost = place + grid.across > grid.panels, grid.at(place)[1] == 0
        layout[f"xaxis{axis_suffix(place)}"] = panel_axis(x, "x", place, across, lowest, own=grid.own_x)
        layout[f"yaxis{axis_suffix(place)}"] = panel_axis(y, "y", place, up, leftmost)
    return layout if grid.height is None else {**layout, "height": grid.height}


def panel_axis(
    axis: dict[str, Any], letter: str, place: int, domain: list[float], outer: bool, *, own: bool = False
) -> dict[str, Any]:
    other = "y" if letter == "x" else "x"
    matching = {} if own else {"matches": letter}
    shared = {} if place == 1 else {**matching, "anchor": f"{other}{place}"}
    ticks = {} if outer or own else {"showticklabels": False}
    title = {} if outer else {"title": {"text": ""}}
    return {**axis, **shared, **ticks, **title, "domain": domain}


def panel_titles(grid: PanelGrid) -> Iterator[dict[str, Any]]:
    """Of columns above their top panel, or above each where they are wrapped; of rows at the right."""
    plain = {"showarrow": False, "xref": "paper", "yref": "paper"}
    for place, text in enumerate(grid.titles, start=1):
        across, up = grid.domain(place)
        if text:
            above = {"x": midpoint(across), "y": up[1], "xanchor": "center", "yanchor": "bottom", "yshift": 3}
            yield {**plain, "text": text, **above}
    for row, text in enumerate(grid.rows):
        up = grid.domain(row * len(grid.columns) + 1)[1]
        if text:
            beside = {"x": 1, "y": midpoint(up), "xanchor": "left", "yanchor": "middle", "xshift": 6}
            yield {**plain, "text": text, **beside, "textangle": 90}


def midpoint(domain: Sequence[float]) -> float:
    return round(sum(domain) / 2, 6)


def level_lines(grid: PanelGrid, value: float) -> list[dict[str, Any]]:
    """A dotted line across every panel, below the data."""
    plain = {"type": "line", "layer": "below", "x0": 0, "x1": 1, "y0": value, "y1": value, "line": {"dash": "dot"}}
    places = [axis_suffix(place) for place in range(1, grid.panels + 1)]
    return [{**plain, "xref": f"x{place} domain", "yref": f"y{place}"} for place in places]
