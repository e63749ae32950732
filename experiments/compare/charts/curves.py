"""Curves of many cells in panels: mean over seeds with a band, over rounds or over what was spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.curves import (
    BAND_MEANINGS,
    Band,
    Curve,
    CurvePoint,
    band_interval,
    band_trace,
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
    """`spent` are the metrics that add up to it; none for rounds."""

    name: str
    text: str
    unit: str = ""
    scale: float = 1.0
    spent: tuple[str, ...] = ()

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
    )
}


@dataclass(frozen=True)
class PanelCurves:
    row: str
    column: str
    curves: tuple[Curve, ...]


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

    @property
    def curves(self) -> list[Curve]:
        return [curve for panel in self.panels for curve in panel.curves]

    @property
    def grid(self) -> PanelGrid:
        return panel_grid([(panel.row, panel.column) for panel in self.panels], 1 if self.narrow else PANELS_ACROSS)


def compare_curves_info(
    points: Sequence[SeedStatistics],
    styles: Mapping[str, CellStyle],
    metric: MetricLabel,
    *,
    x: XAxis = X_AXES["round"],
    band: Band = "std",
    target: float | None = None,
    narrow: bool = False,
) -> CompareCurvesInfo:
    """In the metric's shown unit; `target` too. A cell without a finite value has no curve.

    On a `narrow` screen panels stand below each other, each with the words of its row and column.
    """
    by_cell: dict[str, list[tuple[SeedStatistics, tuple[float, float] | None]]] = {cell: [] for cell in styles}
    for point, interval in zip(points, band_intervals(points, band), strict=True):
        by_cell[point.cell].append((point, interval))
    panels: dict[tuple[str, str], list[Curve]] = {}
    for cell, style in styles.items():
        points_of_cell = tuple(
            CurvePoint(p.round, p.mean * metric.scale, p.n, scale_interval(band, metric.scale), x_position(p, x))
            for p, band in by_cell[cell]
            if p.mean is not None
        )
        here = panels.setdefault(style.stacked_panel if narrow else (style.row, style.column), [])
        if points_of_cell:
            here.append(Curve(style.line.label, style.line.hue, style.line.dash, points_of_cell))
    panel_curves = tuple(PanelCurves(row, column, tuple(curves)) for (row, column), curves in panels.items())
    lost, missed = sum(point.lost for point in points), missed_seeds(points)
    return CompareCurvesInfo(metric, x, band, panel_curves, lost, target, narrow, missed)


def x_position(point: SeedStatistics, x: XAxis) -> float | None:
    return point.x * x.scale if x.spent else None


def band_intervals(points: Sequence[SeedStatistics], band: Band) -> list[tuple[float, float] | None]:
    if band == "boot":
        return bootstrap_intervals([point.values for point in points])
    return [band_interval(point, band) for point in points]


def compare_curves_figure(info: CompareCurvesInfo, drawing: LineOptions) -> dict[str, Any]:
    grid = info.grid
    bands, lines = [], []
    for panel in info.panels:
        place = grid.place(panel.row, panel.column)
        if place is None:
            continue
        bands += [on_panel(band_trace(each), place) for each in panel.curves if any(p.band for p in each.points)]
        lines += [on_panel(line_trace(each, info.metric), place) for each in panel.curves]
    figure = {"data": [*bands, *lines], "layout": curves_layout(info, grid, drawing)}
    return apply_line_options(figure, LineOptions(smoothing=drawing.smoothing))


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
            "text": " · ".join(
                part for part in (label, f"n={curves_seed_range(curves)}", notes.get(label, "")) if part
            ),
        }
        for label, curves in entries.items()
    ]


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


def compare_curves_notes(info: CompareCurvesInfo, *, drawn_cells: int, cells: int) -> str:
    notes = []
    if any(point.band for curve in info.curves for point in curve.points):
        notes.append(f"Band: {BAND_MEANINGS[info.band]}")
    if info.x.spent and info.curves:
        notes.append(f"{info.x.text}: mean over seeds of the total up to each round")
    if info.lost:
        notes.append(f"{info.lost:,} {'value is' if info.lost == 1 else 'values are'} not finite (diverged), left out")
    if info.missed:
        notes.append(missed_seeds_note(info.missed))
    if cells > drawn_cells:
        notes.append(f"{drawn_cells} of {cells:,} cells drawn: choose fewer above to see the others")
    hidden = len(info.panels) - info.grid.panels
    if hidden > 0:
        notes.append(f"{hidden} panels more than fit here")
    return " · ".join(notes)
