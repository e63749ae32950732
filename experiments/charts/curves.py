"""Curves over rounds: the mean over a cell's seeds, a band around it, and how many seeds are behind each point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from experiments.charts.chart import DataTable
from experiments.charts.styles import LineStyle
from experiments.labels.metrics import MetricLabel, metric_label
from experiments.statistics.intervals import t_half_width
from experiments.statistics.over_seeds import SeedStatistics

Band = Literal["std", "se", "ci", "boot", "range", "none"]
BANDS: dict[Band, str] = {"std": "std", "se": "standard error", "ci": "95 % CI", "range": "min–max", "none": "none"}
BAND_MEANINGS: dict[Band, str] = {
    "std": "mean ± std over seeds",
    "se": "mean ± standard error over seeds",
    "ci": "95 % confidence interval of the mean (Student's t)",
    "boot": "95 % bootstrap interval of the mean",
    "range": "lowest to highest seed",
}


POINTED_AT = ", of the line that is pointed at"
"""Said of bands where there are many; on paper, which nobody points at, all are drawn."""


class SeedSummary(Protocol):
    """Mean, deviation and extremes over so many seeds: all that a band is made of."""

    @property
    def mean(self) -> float | None: ...
    @property
    def std(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def n(self) -> int: ...


class CurvePoint(NamedTuple):
    round: int
    mean: float
    n: int
    band: tuple[float, float] | None
    x: float | None = None

    @property
    def place(self) -> float:
        """On the x axis, which shows rounds unless another is chosen."""
        return self.round if self.x is None else self.x


@dataclass(frozen=True)
class Curve:
    label: str
    hue: int
    dash: str
    points: tuple[CurvePoint, ...]

    @property
    def n(self) -> str:
        """How many seeds are behind the points: one number, or a range while some lag behind."""
        return seed_range(point.n for point in self.points)


def seed_range(counts: Iterable[int]) -> str:
    known = set(counts)
    return str(max(known)) if len(known) == 1 else f"{min(known)}–{max(known)}"


@dataclass(frozen=True)
class CurvesInfo:
    metric: MetricLabel
    band: Band
    curves: tuple[Curve, ...]
    lost: int
    missed: int = 0

    @property
    def last_round(self) -> int:
        return max((curve.points[-1].round for curve in self.curves), default=0)


def curves_info(
    points: Sequence[SeedStatistics], styles: Mapping[str, LineStyle], metric: str, band: Band = "std"
) -> CurvesInfo:
    """Values in the metric's shown unit, cells in the order of `styles`; one without a finite value has no curve."""
    label = metric_label(metric)
    statistics_by_cell: dict[str, list[SeedStatistics]] = {cell: [] for cell in styles}
    for point in points:
        if point.cell in statistics_by_cell:
            statistics_by_cell[point.cell].append(point)
    points_by_cell = {
        cell: tuple(curve_points(cell_points, label, band)) for cell, cell_points in statistics_by_cell.items()
    }
    curves = tuple(
        Curve(styles[cell].label, styles[cell].hue, styles[cell].dash, cell_points)
        for cell, cell_points in points_by_cell.items()
        if cell_points
    )
    lost = sum(point.lost for cell_points in statistics_by_cell.values() for point in cell_points)
    return CurvesInfo(label, band, curves, lost, missed_seeds(point for point in points if point.cell in styles))


def missed_seeds(points: Iterable[SeedStatistics]) -> int:
    """Of all cells: seeds that ended before their cell's curve does, which is then a mean of the others."""
    most: dict[str, int] = {}
    for point in points:
        most[point.cell] = max(most.get(point.cell, 0), point.missed)
    return sum(most.values())


def missed_seeds_note(missed: int) -> str:
    verb = "seed ended" if missed == 1 else "seeds ended"
    where = "before its curve does" if missed == 1 else "before their curves do"
    return f"{missed} {verb} {where} (failed, cancelled or stopped): not in the means from there on" if missed else ""


def curve_points(points: Sequence[SeedStatistics], metric: MetricLabel, band: Band) -> Iterator[CurvePoint]:
    for point in sorted(points, key=lambda each: each.round):
        if point.mean is not None:
            interval = scale_interval(metric.clip(band_interval(point, band)), metric.scale)
            yield CurvePoint(point.round, point.mean * metric.scale, point.n, interval)


def band_interval(summary: SeedSummary, band: Band) -> tuple[float, float] | None:
    if band == "range" and summary.low is not None and summary.high is not None and summary.n > 1:
        return summary.low, summary.high
    half = half_width(summary, band)
    return None if half is None or summary.mean is None else (summary.mean - half, summary.mean + half)


def half_width(summary: SeedSummary, band: Band) -> float | None:
    if band == "ci":
        return t_half_width(summary.std, summary.n)
    if band == "se" and summary.std is not None:
        return summary.std / math.sqrt(summary.n)
    return summary.std if band == "std" else None


def scale_interval(band: tuple[float, float] | None, scale: float) -> tuple[float, float] | None:
    return (band[0] * scale, band[1] * scale) if band else None


def curves_figure(info: CurvesInfo) -> dict[str, Any]:
    """Plotly's data and layout. `meta.hue` stands for a colour: the browser fills it in from the theme."""
    bands = [band_trace(curve) for curve in info.curves if any(point.band for point in curve.points)]
    return {
        "data": [*bands, *(line_trace(curve, info.metric) for curve in info.curves)],
        "layout": {
            "xaxis": {"title": {"text": "Round"}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": info.metric.axis}},
        },
    }


EVEN = 1e-6


def line_trace(curve: Curve, metric: MetricLabel) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines" if len(curve.points) > 1 else "markers",
        "name": f"{curve.label} · n={curve.n}",
        "legendgroup": curve.label,
        "x": [point.place for point in curve.points],
        "y": [point.mean for point in curve.points],
        "customdata": [hover_text(point, metric) for point in curve.points],
        "hovertemplate": f"{curve.label}: %{{customdata}}<extra></extra>",
        "line": {"dash": curve.dash, "width": 2},
        "meta": {"hue": curve.hue},
    }


def hover_text(point: CurvePoint, metric: MetricLabel) -> str:
    return f"{metric.format_scaled(point.mean)}{spread_text(point, metric)} · n={point.n}"


def spread_text(point: CurvePoint, metric: MetricLabel) -> str:
    """As " ± 0.10"; a band that does not lie evenly about the mean by its ends."""
    if point.band is None:
        return ""
    low, high = point.band
    if abs((high - point.mean) - (point.mean - low)) > EVEN * (high - low):
        return f" ({metric.format_scaled(low)} to {metric.format_scaled(high)})"
    return f" ± {metric.format_scaled(high / 2 - low / 2)}"


def band_trace(curve: Curve) -> dict[str, Any]:
    """One closed outline per stretch of rounds that has a band; gaps separate them."""
    x: list[float | None] = []
    y: list[float | None] = []
    for stretch in band_stretches(curve.points):
        if x:
            x.append(None)
            y.append(None)
        outline = [*((r, high) for r, _, high in stretch), *((r, low) for r, low, _ in reversed(stretch))]
        x.extend(place for place, _ in outline)
        y.extend(value for _, value in outline)
    return {
        "type": "scatter",
        "mode": "lines",
        "fill": "toself",
        "legendgroup": curve.label,
        "showlegend": False,
        "hoverinfo": "skip",
        "x": x,
        "y": y,
        "line": {"width": 0},
        "meta": {"hue": curve.hue, "band": True},
    }


def band_stretches(points: Sequence[CurvePoint]) -> Iterator[list[tuple[float, float, float]]]:
    stretch: list[tuple[float, float, float]] = []
    for point in points:
        if point.band:
            stretch.append((point.place, *point.band))
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def curves_description(info: CurvesInfo) -> str:
    """The chart in words, for people who do not see it."""
    if not info.curves:
        return f"No {info.metric.text.lower()} has been measured yet."
    ends = "; ".join(f"{each.label}: {info.metric.format_scaled(each.points[-1].mean)}" for each in info.curves)
    return f"{info.metric.axis}, over rounds 0 to {info.last_round}, mean over seeds. Last values: {ends}."


def curves_table(info: CurvesInfo) -> DataTable:
    """In stored units."""
    scale = info.metric.scale
    rows = tuple(
        (
            curve.label,
            point.round,
            point.mean / scale,
            *(scale_interval(point.band, 1 / scale) or (None, None)),
            point.n,
        )
        for curve in info.curves
        for point in curve.points
    )
    return DataTable(("line", "round", "mean", "low", "high", "n"), rows)


def curves_legend(info: CurvesInfo, styles: Mapping[str, LineStyle]) -> list[dict[str, Any]]:
    """One entry per cell, in the grid's order; a cell that waits for its first round has no n yet."""
    counts = {curve.label: curve.n for curve in info.curves}
    return [
        {"label": each.label, "hue": each.hue, "dash": each.dash, "n": counts.get(each.label)}
        for each in styles.values()
    ]


def curves_notes(info: CurvesInfo, drawn_cells: int, cells: int) -> str:
    """What a reader must know beside the lines: the band's meaning, what is left out, and why."""
    notes = []
    if info.band != "none" and any(point.band for curve in info.curves for point in curve.points):
        notes.append(f"Band: {BAND_MEANINGS[info.band]}")
    if info.lost:
        verb = "value is" if info.lost == 1 else "values are"
        notes.append(f"{info.lost} {verb} not finite (diverged) and left out of the means")
    if info.missed:
        notes.append(missed_seeds_note(info.missed))
    if cells > drawn_cells:
        notes.append(f"{drawn_cells} of {cells} cells drawn")
    return " · ".join(notes)
