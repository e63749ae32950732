"""Curves of many cells in panels: mean over seeds with a band, over rounds or over what was spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.curves import (
    BAND_MEANINGS,
    POINTED_AT,
    Band,
    Curve,
    CurvePoint,
    band_interval,
    band_trace,
    hover_text,
    line_trace,
    missed_seeds,
    missed_seeds_note,
    scale_interval,
    seed_range,
)
from experiments.charts.panels import PANELS_ACROSS, PanelGrid, level_lines, on_panel, panel_grid, panel_layout
from experiments.charts.smoothing import LineOptions, apply_line_options
from experiments.charts.styles import CellStyle
from experiments.labels.metrics import MetricLabel
from experiments.statistics.intervals import bootstrap_intervals
from experiments.statistics.over_seeds import SeedStatistics


@dataclass(frozen=True)
class XAxis:
    """`spent` are the metrics that add up to it, or are it in each round; none for rounds."""

    name: str
    text: str
    unit: str = ""
    scale: float = 1.0
    spent: tuple[str, ...] = ()
    adds_up: bool = True

    @property
    def title(self) -> str:
        return f"{self.text}, {self.unit}" if self.unit else self.text

    @property
    def plain(self) -> str:
        """In a sentence."""
        return "rounds" if self.name == "round" else self.text.lower()

    @property
    def plain_with_unit(self) -> str:
        """In a sentence, with its unit."""
        return f"{self.plain}, {self.unit}" if self.unit else self.plain


X_AXES: dict[str, XAxis] = {
    each.name: each
    for each in (
        XAxis("round", "Round"),
        XAxis("steps", "Local steps of all clients", spent=("local_steps",)),
        XAxis("samples", "Samples trained on", spent=("samples_seen",)),
        XAxis("bytes", "Bytes sent by anyone", "MB", 1e-6, ("bytes_up", "bytes_down", "bytes_peer")),
        XAxis("seconds", "Time", "s", spent=("seconds",)),
        XAxis("cpu", "CPU time", "s", spent=("seconds_cpu",)),
        XAxis("epsilon", "Privacy spent", "ε", spent=("privacy.epsilon",), adds_up=False),
    )
}


MOST_COLUMNS = 4
MOST_BANDS = 3
"""In a panel: more would cover each other."""
MOST_PANELS = 12
"""On one page."""
MUCH_LONGER = 4
"""Lines that end before a quarter of the axis are hard to read."""
SHARED_RANGE_NOTE = "Panels share one x range, in which some lines are short: “own x” under Look, More"
OWN_RANGES_NOTE = "Each panel has its own x range: compare lengths by the ticks"


@dataclass(frozen=True)
class PanelPage:
    """The cells of one page of panels; `left` are panels on other pages."""

    cells: tuple[str, ...]
    number: int = 1
    pages: int = 1
    panels: int = 1
    left: int = 0


def panel_page(styles: Mapping[str, CellStyle], number: int) -> PanelPage:
    """Panels in order, by rows first: whole rows share a page where they fit."""
    cells: dict[tuple[str, str], list[str]] = {}
    for cell, style in sorted(styles.items(), key=lambda item: item[1].place):
        cells.setdefault((style.row, style.column), []).append(cell)
    columns = max(1, len({column for _, column in cells}))
    most = max(1, MOST_PANELS // columns) * columns if columns <= MOST_PANELS else MOST_PANELS
    pages = [list(cells.values())[start : start + most] for start in range(0, len(cells), most)] or [[]]
    number = min(max(1, number), len(pages))
    here = pages[number - 1]
    return PanelPage(
        tuple(cell for panel in here for cell in panel), number, len(pages), len(cells), len(cells) - len(here)
    )


def page_note(page: PanelPage, panels_of: str) -> str:
    """As "2 of 14 strategies are on the next page"."""
    if page.pages == 1:
        return ""
    where = "the next page" if page.number == 1 and page.pages == 2 else "other pages"
    if page.number == 2 and page.pages == 2:
        where = "the page before"
    return f"{page.left} of {page.panels} {panels_of} are on {where}"


SHARED_TIME_NOTE = (
    "Seconds are of the wall clock: whatever else ran on a worker's machine is in them. CPU time leaves that out"
)


@dataclass(frozen=True)
class PanelCurves:
    row: str
    column: str
    curves: tuple[Curve, ...]

    @property
    def end(self) -> float:
        """Where its longest line ends on the x axis."""
        return max(curve.points[-1].place for curve in self.curves)


@dataclass(frozen=True)
class CompareCurvesInfo:
    metric: MetricLabel
    x: XAxis
    band: Band
    panels: tuple[PanelCurves, ...]
    lost: int
    target: float | None = None
    narrow: bool = False
    missed: int = 0
    stacked: bool = False
    """Every panel has a title of its own, because the grid of rows and columns would have gaps."""
    own_x: bool = False
    """Each panel has its own range of x, where otherwise all have the longest."""

    def panel_words(self, style: CellStyle) -> tuple[str, str]:
        """Row and column of a cell's panel."""
        return style.stacked_panel if self.stacked else (style.row, style.column)

    @property
    def highlights(self) -> bool:
        """Each panel is about one line: the others are there in grey."""
        return len(self.panels) > 1 and all(len(panel.curves) < 2 for panel in self.panels)

    @property
    def curves(self) -> list[Curve]:
        return [curve for panel in self.panels for curve in panel.curves]

    @property
    def grid(self) -> PanelGrid:
        places = [(panel.row, panel.column) for panel in self.panels]
        return panel_grid(places, 1 if self.narrow else PANELS_ACROSS, own_x=self.own_x)

    @property
    def shortest_end(self) -> float:
        return min((panel.end for panel in self.panels), default=0.0)

    @property
    def longest_end(self) -> float:
        return max((panel.end for panel in self.panels), default=0.0)


def compare_curves_info(
    points: Sequence[SeedStatistics],
    styles: Mapping[str, CellStyle],
    metric: MetricLabel,
    *,
    x: XAxis = X_AXES["round"],
    band: Band = "std",
    target: float | None = None,
    narrow: bool = False,
    own_x: bool = False,
) -> CompareCurvesInfo:
    """In the metric's shown unit; `target` too. A cell without a finite value has no curve, one without any no panel.

    On a `narrow` screen panels stand below each other, each with the words of its row and column.
    """
    by_cell: dict[str, list[tuple[SeedStatistics, tuple[float, float] | None]]] = {cell: [] for cell in styles}
    for point, interval in zip(points, band_intervals(points, band), strict=True):
        by_cell[point.cell].append((point, interval))
    panels: dict[tuple[str, str], list[Curve]] = {}
    scale, stacked = metric.scale, narrow or leaves_gaps(styles)
    for cell, style in sorted(styles.items(), key=lambda item: item[1].place):
        points_of_cell = tuple(
            CurvePoint(p.round, p.mean * scale, p.n, scale_interval(metric.clip(interval), scale), x_position(p, x))
            for p, interval in by_cell[cell]
            if p.mean is not None
        )
        if points_of_cell:
            curve = Curve(style.line.label, style.line.hue, style.line.dash, points_of_cell)
            panels.setdefault(style.stacked_panel if stacked else (style.row, style.column), []).append(curve)
    panel_curves = tuple(PanelCurves(row, column, tuple(curves)) for (row, column), curves in panels.items())
    lost, missed = sum(point.lost for point in points), missed_seeds(points)
    return CompareCurvesInfo(metric, x, band, panel_curves, lost, target, narrow, missed, stacked, own_x)


def leaves_gaps(styles: Mapping[str, CellStyle]) -> bool:
    """Whether a grid of rows and columns would have empty panels, or more columns than a page is wide."""
    panels = {(style.row, style.column) for style in styles.values()}
    rows, columns = ({panel[side] for panel in panels} for side in (0, 1))
    return len(rows) > 1 and (len(panels) < len(rows) * len(columns) or len(columns) > MOST_COLUMNS)


def x_position(point: SeedStatistics, x: XAxis) -> float | None:
    return point.x * x.scale if x.spent else None


def band_intervals(points: Sequence[SeedStatistics], band: Band) -> list[tuple[float, float] | None]:
    if band == "boot":
        return bootstrap_intervals([point.values for point in points])
    return [band_interval(point, band) for point in points]


def compare_curves_figure(info: CompareCurvesInfo, drawing: LineOptions) -> dict[str, Any]:
    grid = info.grid
    ghosts, bands, lines = [], [], []
    for panel in info.panels:
        place = grid.place(panel.row, panel.column)
        if place is None:
            continue
        few = len(panel.curves) <= MOST_BANDS
        bands += [on_panel(band_of(each, few), place) for each in panel.curves if any(p.band for p in each.points)]
        lines += [on_panel(panel_line(each, panel, info.metric), place) for each in panel.curves]
        if info.highlights:
            ghosts.append(on_panel(grey_trace([each for each in info.panels if each is not panel]), place))
    figure = {"data": [*ghosts, *bands, *lines], "layout": curves_layout(info, grid, drawing)}
    return apply_line_options(figure, LineOptions(smoothing=drawing.smoothing))


def panel_line(curve: Curve, panel: PanelCurves, metric: MetricLabel) -> dict[str, Any]:
    """With its panel's words, which the list beside the chart says of the place that is pointed at."""
    trace, words = line_trace(curve, metric), " · ".join(word for word in (panel.row, panel.column) if word)
    return {**trace, "meta": {**trace["meta"], "panel": words}} if words else trace


def band_of(curve: Curve, few: bool) -> dict[str, Any]:
    """Where there are many, the browser shows the one of the line that a person points at."""
    trace = band_trace(curve)
    return trace if few else {**trace, "meta": {**trace["meta"], "pointed": True}}


def grey_trace(panels: Sequence[PanelCurves]) -> dict[str, Any]:
    """The lines of other panels, as one with gaps."""
    x: list[float | None] = []
    y: list[float | None] = []
    for curve in (curve for panel in panels for curve in panel.curves):
        x += [*(point.place for point in curve.points), None]
        y += [*(point.mean for point in curve.points), None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"width": 1},
        "hoverinfo": "skip",
        "showlegend": False,
        "meta": {"muted": True},
    }


def curves_layout(info: CompareCurvesInfo, grid: PanelGrid, drawing: LineOptions) -> dict[str, Any]:
    x = {"title": {"text": info.x.title}, **({"type": "log"} if drawing.log_x else {"rangemode": "tozero"})}
    y = {"title": {"text": info.metric.axis}, **({"type": "log"} if drawing.log_y else {})}
    layout = panel_layout(grid, x, y)
    if info.target is not None:
        layout["shapes"] = level_lines(grid, info.target)
    return layout


def compare_curves_legend(info: CompareCurvesInfo, notes: Mapping[str, str]) -> list[dict[str, Any]]:
    """One entry per label over all panels, with the seeds behind it; `notes` says more of some."""
    entries: dict[str, list[Curve]] = {}
    for curve in info.curves:
        entries.setdefault(curve.label, []).append(curve)
    return [
        {
            "label": label,
            "hue": curves[0].hue,
            "dash": curves[0].dash,
            "n": curves_seed_range(curves),
            **last_value(curves, info.metric),
            "text": " · ".join(
                part for part in (label, f"n={curves_seed_range(curves)}", notes.get(label, "")) if part
            ),
        }
        for label, curves in entries.items()
    ]


def last_value(curves: Sequence[Curve], metric: MetricLabel) -> dict[str, Any]:
    """Of a label that stands for one line: where it ends, in words and as a number to sort by."""
    end = curves[0].points[-1]
    return {"value": hover_text(end, metric), "last": end.mean} if len(curves) == 1 else {}


def curves_seed_range(curves: Sequence[Curve]) -> str:
    return seed_range(point.n for curve in curves for point in curve.points)


def compare_curves_description(info: CompareCurvesInfo) -> str:
    """The chart in words, for people who do not see it."""
    if not info.curves:
        return f"No {info.metric.text.lower()} has been measured yet."
    ends = "; ".join(last_value_text(panel, curve, info.metric) for panel in info.panels for curve in panel.curves)
    return f"{info.metric.axis}, against {info.x.plain_with_unit}, mean over seeds. Last values: {ends}."


def last_value_text(panel: PanelCurves, curve: Curve, metric: MetricLabel) -> str:
    words = " · ".join(word for word in (curve.label, panel.row, panel.column) if word)
    return f"{words}: {metric.format_scaled(curve.points[-1].mean)} (n={curve.points[-1].n})"


def compare_curves_notes(info: CompareCurvesInfo) -> str:
    notes = []
    if any(point.band for curve in info.curves for point in curve.points):
        pointed = any(len(panel.curves) > MOST_BANDS for panel in info.panels)
        notes.append(f"Band: {BAND_MEANINGS[info.band]}{POINTED_AT if pointed else ''}")
    if info.longest_end > MUCH_LONGER * info.shortest_end:
        notes.append(OWN_RANGES_NOTE if info.own_x else SHARED_RANGE_NOTE)
    if info.x.spent and info.curves:
        what = "total up to each round" if info.x.adds_up else "value after each round"
        notes.append(f"{info.x.text}: mean over seeds of the {what}")
    if info.x.name == "seconds" and info.curves:
        notes.append(SHARED_TIME_NOTE)
    if info.lost:
        notes.append(f"{info.lost:,} {'value is' if info.lost == 1 else 'values are'} not finite (diverged), left out")
    if info.missed:
        notes.append(missed_seeds_note(info.missed))
    return " · ".join(notes)
