"""A value against an axis: a line per method, with error bars, in panels where data sets differ or lines are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import DataTable
from experiments.charts.curves import BAND_MEANINGS, Band, band_interval, scale_interval, seed_range
from experiments.charts.panels import PANELS_ACROSS, PanelGrid, on_panel, panel_grid, panel_layout
from experiments.charts.styles import CellStyle
from experiments.compare.charts.values import lost_note, seeds_text
from experiments.labels.metrics import MetricLabel
from experiments.labels.names import axis_title, value_text
from experiments.statistics.intervals import bootstrap_intervals
from experiments.statistics.over_seeds import Sample

DECADES = 10


@dataclass(frozen=True)
class AgainstPoint:
    x: float | str
    mean: float
    n: int
    band: tuple[float, float] | None
    lost: int = 0
    missed: int = 0


@dataclass(frozen=True)
class AgainstLine:
    label: str
    hue: int
    dash: str
    points: tuple[AgainstPoint, ...]
    panel: str = ""

    @property
    def whole_label(self) -> str:
        """With what the panel tells, for words and files."""
        return " · ".join(dict.fromkeys(word for word in (self.label, self.panel) if word))


@dataclass(frozen=True)
class AgainstInfo:
    label: MetricLabel
    axis: str
    band: Band
    lines: tuple[AgainstLine, ...]
    cells_without: int
    """So many cells have no such field."""
    lost: int = 0
    missed: int = 0
    """So many seeds have no value, those of cells without any among them."""
    categories: tuple[str, ...] = ()
    """Words along the axis, in its order."""
    narrow: bool = False

    @property
    def numeric(self) -> bool:
        return all(not isinstance(point.x, str) for line in self.lines for point in line.points)

    @property
    def grid(self) -> PanelGrid:
        return panel_grid([("", line.panel) for line in self.lines], 1 if self.narrow else PANELS_ACROSS)


def against_info(
    styles: Mapping[str, CellStyle],
    on_axis: Mapping[str, Any],
    samples: Mapping[str, Sample],
    label: MetricLabel,
    *,
    axis: str,
    band: Band = "std",
    cells_without: int = 0,
    narrow: bool = False,
) -> AgainstInfo:
    """`on_axis` has each cell's value there; `styles` must not tell it, so that cells of one look form a line.

    Panels are the styles' own; on a `narrow` screen they stand below each other.
    """
    lines: dict[tuple[str, str], list[AgainstPoint]] = {}
    for cell, style in styles.items():
        sample = samples.get(cell)
        if sample is not None and sample.mean is not None:
            point = AgainstPoint(
                axis_position(on_axis[cell]),
                sample.mean * label.scale,
                sample.n,
                error_band(sample, label, band),
                sample.lost,
                sample.missed,
            )
            lines.setdefault((style.panel, style.line.label), []).append(point)
    line_styles = {(style.panel, style.line.label): style.line for style in styles.values()}
    numeric = all(not isinstance(point.x, str) for points in lines.values() for point in points)
    return AgainstInfo(
        label,
        axis,
        band,
        tuple(
            AgainstLine(label_text, line.hue, line.dash, sort_points(points, numeric), panel)
            for (panel, label_text), points in lines.items()
            if (line := line_styles[panel, label_text])
        ),
        cells_without,
        sum(samples[cell].lost for cell in styles if cell in samples),
        sum(samples[cell].missed for cell in styles if cell in samples),
        tuple(dict.fromkeys(value_text(on_axis[cell]) for cell in on_axis if cell in styles)),
        narrow,
    )


def axis_position(value: Any) -> float | str:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else value_text(value)


def sort_points(points: Sequence[AgainstPoint], numeric: bool) -> tuple[AgainstPoint, ...]:
    return tuple(sorted(points, key=lambda point: float(point.x))) if numeric else tuple(points)


def error_band(sample: Sample, label: MetricLabel, band: Band) -> tuple[float, float] | None:
    seeds = list(sample.seeds.values())
    interval = bootstrap_intervals([seeds])[0] if band == "boot" else band_interval(sample, band)
    return scale_interval(label.clip(interval), label.scale)


def against_figure(info: AgainstInfo) -> dict[str, Any]:
    x: dict[str, Any] = {"title": {"text": axis_title(info.axis).capitalize()}, **x_scale(info)}
    y = {"title": {"text": info.label.axis}}
    grid = info.grid
    layout = {"xaxis": x, "yaxis": y} if grid.panels == 1 else panel_layout(grid, x, y)
    return {
        "data": [on_panel(against_trace(line, info), grid.place("", line.panel) or 1) for line in info.lines],
        "layout": {"hovermode": "closest", **layout},
    }


def x_scale(info: AgainstInfo) -> dict[str, Any]:
    """Words as they are; numbers that span decades on a logarithmic axis with a tick at each."""
    if not info.numeric:
        return {"type": "category", "categoryorder": "array", "categoryarray": list(info.categories)}
    places = sorted({float(point.x) for line in info.lines for point in line.points})
    if len(places) < 3 or places[0] <= 0 or places[-1] / places[0] < DECADES:
        return {}
    return {"type": "log", "tickmode": "array", "tickvals": places, "ticktext": [value_text(place) for place in places]}


def against_trace(line: AgainstLine, info: AgainstInfo) -> dict[str, Any]:
    digits = info.label.digits
    bars = [(point.mean - point.band[0], point.band[1] - point.mean) if point.band else (0, 0) for point in line.points]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": line.label,
        "legendgroup": line.label,
        "x": [point.x for point in line.points],
        "y": [point.mean for point in line.points],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [high for _, high in bars],
            "arrayminus": [low for low, _ in bars],
            "width": 4,
            "thickness": 1.2,
            "visible": any(point.band for point in line.points),
        },
        "customdata": [seeds_text(point) for point in line.points],
        "hovertemplate": (
            f"{line.whole_label}<br>{axis_title(info.axis)} %{{x}}: %{{y:.{digits}f}} · %{{customdata}}<extra></extra>"
        ),
        "line": {"dash": line.dash, "width": 2},
        "marker": {"size": 7},
        "meta": {"hue": line.hue},
    }


def against_legend(info: AgainstInfo) -> list[dict[str, Any]]:
    """One entry per label over all panels."""
    lines: dict[str, list[AgainstLine]] = {}
    for line in info.lines:
        lines.setdefault(line.label, []).append(line)
    return [
        {
            "label": label,
            "hue": same[0].hue,
            "dash": same[0].dash,
            "n": seed_range(point.n for line in same for point in line.points),
        }
        for label, same in lines.items()
    ]


def lost_part(point: AgainstPoint) -> str:
    return f" ({seeds_text(point)})" if point.lost or point.missed else ""


def against_description(info: AgainstInfo) -> str:
    if not info.lines:
        return f"{info.label.text}: no finished run has a value on this axis yet."
    lines = "; ".join(
        f"{line.whole_label}: "
        + ", ".join(
            f"{info.label.format_scaled(point.mean)} at {value_text(point.x)}{lost_part(point)}"
            for point in line.points
        )
        for line in info.lines
    )
    return f"{info.label.axis}, against {axis_title(info.axis)}. {lines}."


def against_notes(info: AgainstInfo) -> str:
    notes = []
    if any(point.band for line in info.lines for point in line.points):
        notes.append(f"Bars: {BAND_MEANINGS[info.band]}")
    if note := lost_note(info.lost, info.missed):
        notes.append(note)
    if info.cells_without:
        notes.append(f"{info.cells_without} cells have no {axis_title(info.axis)}")
    return " · ".join(notes)


def against_table(info: AgainstInfo) -> DataTable:
    columns = ("line", info.axis, "mean", "low", "high", "n", "lost", "missed")
    scale = info.label.scale
    rows = tuple(
        (
            line.whole_label,
            point.x,
            point.mean / scale,
            *unscale_band(point.band, scale),
            point.n,
            point.lost,
            point.missed,
        )
        for line in info.lines
        for point in line.points
    )
    return DataTable(columns, rows)


def unscale_band(band: tuple[float, float] | None, scale: float) -> tuple[float | None, float | None]:
    return (band[0] / scale, band[1] / scale) if band else (None, None)
