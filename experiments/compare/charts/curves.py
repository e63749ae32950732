"""Curves of many cells in panels: mean over seeds with a band, over rounds or over what was spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from experiments.charts.curves import (
    MEANINGS,
    Band,
    Curve,
    CurvePoint,
    Point,
    band_of,
    band_trace,
    line_trace,
    scaled,
    seed_range,
)
from experiments.charts.panels import ACROSS, Grid, grid_of, level_line, on_panel, panel_layout
from experiments.charts.smoothing import Drawing, redrawn
from experiments.charts.styles import Placed
from experiments.labels.metrics import MetricLabel
from experiments.statistics.intervals import bootstrap_intervals


class SeedPoint(Point, Protocol):
    """`x` is the place on the axis, `values` are the seeds' own where a bootstrap needs them."""

    @property
    def x(self) -> float: ...
    @property
    def values(self) -> tuple[float, ...]: ...


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
    def told(self) -> str:
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

    @property
    def curves(self) -> list[Curve]:
        return [curve for panel in self.panels for curve in panel.curves]

    @property
    def grid(self) -> Grid:
        return grid_of([(panel.row, panel.column) for panel in self.panels], 1 if self.narrow else ACROSS)


def compare_curves_info(
    points: Sequence[SeedPoint],
    places: Mapping[str, Placed],
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
    by_cell: dict[str, list[tuple[SeedPoint, tuple[float, float] | None]]] = {cell: [] for cell in places}
    for point, interval in zip(points, intervals(points, band), strict=True):
        by_cell[point.cell].append((point, interval))
    panels: dict[tuple[str, str], list[Curve]] = {}
    for cell, place in places.items():
        drawn = tuple(
            CurvePoint(p.round, p.mean * metric.scale, p.n, scaled(band, metric.scale), own_x(p, x))
            for p, band in by_cell[cell]
            if p.mean is not None
        )
        here = panels.setdefault(place.stacked if narrow else (place.row, place.column), [])
        if drawn:
            here.append(Curve(place.style.label, place.style.hue, place.style.dash, drawn))
    found = tuple(PanelCurves(row, column, tuple(curves)) for (row, column), curves in panels.items())
    return CompareCurvesInfo(metric, x, band, found, sum(point.lost for point in points), target, narrow)


def own_x(point: SeedPoint, x: XAxis) -> float | None:
    return point.x * x.scale if x.spent else None


def intervals(points: Sequence[SeedPoint], band: Band) -> list[tuple[float, float] | None]:
    if band == "boot":
        return bootstrap_intervals([point.values for point in points])
    return [band_of(point, band) for point in points]


def compare_curves_figure(info: CompareCurvesInfo, drawing: Drawing) -> dict[str, Any]:
    grid = info.grid
    bands, lines = [], []
    for panel in info.panels:
        place = grid.place(panel.row, panel.column)
        if place is None:
            continue
        bands += [on_panel(band_trace(each), place) for each in panel.curves if any(p.band for p in each.points)]
        lines += [on_panel(line_trace(each, info.metric), place) for each in panel.curves]
    figure = {"data": [*bands, *lines], "layout": curves_layout(info, grid, drawing)}
    return redrawn(figure, Drawing(smoothing=drawing.smoothing))


def curves_layout(info: CompareCurvesInfo, grid: Grid, drawing: Drawing) -> dict[str, Any]:
    x = {"title": {"text": info.x.title}, **({"type": "log"} if drawing.log_x else {"rangemode": "tozero"})}
    y = {"title": {"text": info.metric.axis}, **({"type": "log"} if drawing.log_y else {})}
    layout = panel_layout(grid, x, y)
    if info.target is not None:
        layout["shapes"] = level_line(grid, info.target)
    return layout


def compare_legend(info: CompareCurvesInfo, notes: Mapping[str, str]) -> list[dict[str, Any]]:
    """One entry per label over all panels, with the seeds behind it; `notes` says more of some."""
    entries: dict[str, list[Curve]] = {}
    for curve in info.curves:
        entries.setdefault(curve.label, []).append(curve)
    return [
        {
            "label": label,
            "hue": found[0].hue,
            "dash": found[0].dash,
            "n": seeds(found),
            "text": " · ".join(part for part in (label, f"n={seeds(found)}", notes.get(label, "")) if part),
        }
        for label, found in entries.items()
    ]


def seeds(curves: Sequence[Curve]) -> str:
    return seed_range(point.n for curve in curves for point in curve.points)


def compare_curves_description(info: CompareCurvesInfo) -> str:
    """The chart in words, for people who do not see it."""
    if not info.curves:
        return f"No {info.metric.text.lower()} has been measured yet."
    ends = "; ".join(ending(panel, curve, info.metric) for panel in info.panels for curve in panel.curves)
    return f"{info.metric.axis}, against {info.x.told}, mean over seeds. Last values: {ends}."


def ending(panel: PanelCurves, curve: Curve, metric: MetricLabel) -> str:
    words = " · ".join(word for word in (curve.label, panel.row, panel.column) if word)
    return f"{words}: {curve.points[-1].mean:.{metric.digits}f} (n={curve.points[-1].n})"


def compare_curves_notes(info: CompareCurvesInfo, *, drawn: int, cells: int) -> str:
    notes = []
    if any(point.band for curve in info.curves for point in curve.points):
        notes.append(f"Band: {MEANINGS[info.band]}")
    if info.x.spent and info.curves:
        notes.append(f"{info.x.text}: mean over seeds of the total up to each round")
    if info.lost:
        notes.append(f"{info.lost:,} {'value is' if info.lost == 1 else 'values are'} not finite (diverged), left out")
    if cells > drawn:
        notes.append(f"{drawn} of {cells:,} cells drawn: choose fewer above to see the others")
    hidden = len(info.panels) - info.grid.panels
    if hidden > 0:
        notes.append(f"{hidden} panels more than fit here")
    return " · ".join(notes)
