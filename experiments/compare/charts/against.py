"""A value against an axis: a line per method, with error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import Table
from experiments.charts.curves import MEANINGS, Band, band_of, seed_range
from experiments.charts.styles import Placed
from experiments.labels.axes import axis_title
from experiments.labels.axes import value_text as worded
from experiments.labels.metrics import MetricLabel
from experiments.statistics.intervals import Sample, bootstrap_intervals

DECADES = 10


@dataclass(frozen=True)
class AgainstPoint:
    x: float | str
    mean: float
    n: int
    band: tuple[float, float] | None


@dataclass(frozen=True)
class AgainstLine:
    label: str
    hue: int
    dash: str
    points: tuple[AgainstPoint, ...]


@dataclass(frozen=True)
class AgainstInfo:
    label: MetricLabel
    axis: str
    band: Band
    lines: tuple[AgainstLine, ...]
    without: int
    """So many cells have no such field."""

    @property
    def numeric(self) -> bool:
        return all(not isinstance(point.x, str) for line in self.lines for point in line.points)


@dataclass(frozen=True)
class SamplePoint:
    """A sample in the shape that bands are computed from."""

    cell: str
    sample: Sample
    round: int = 0
    lost: int = 0

    @property
    def mean(self) -> float | None:
        return self.sample.mean

    @property
    def std(self) -> float | None:
        return self.sample.std

    @property
    def low(self) -> float | None:
        return min(self.sample.seeds.values(), default=None)

    @property
    def high(self) -> float | None:
        return max(self.sample.seeds.values(), default=None)

    @property
    def n(self) -> int:
        return self.sample.n


def against_info(
    places: Mapping[str, Placed],
    on_axis: Mapping[str, Any],
    samples: Mapping[str, Sample],
    label: MetricLabel,
    *,
    axis: str,
    band: Band = "std",
    without: int = 0,
) -> AgainstInfo:
    """`on_axis` has each cell's value there; `places` must not tell it, so that cells of one look form a line."""
    lines: dict[str, list[AgainstPoint]] = {}
    for cell, place in places.items():
        sample = samples.get(cell)
        if sample is not None and sample.mean is not None:
            point = AgainstPoint(
                axis_place(on_axis[cell]), sample.mean * label.scale, sample.n, spread(sample, label, band)
            )
            lines.setdefault(place.whole_label, []).append(point)
    styles = {place.whole_label: place.style for place in places.values()}
    numeric = all(not isinstance(point.x, str) for points in lines.values() for point in points)
    return AgainstInfo(
        label,
        axis,
        band,
        tuple(
            AgainstLine(name, styles[name].hue, styles[name].dash, in_place(points, numeric))
            for name, points in lines.items()
        ),
        without,
    )


def axis_place(value: Any) -> float | str:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else worded(value)


def in_place(points: Sequence[AgainstPoint], numeric: bool) -> tuple[AgainstPoint, ...]:
    return tuple(sorted(points, key=lambda point: float(point.x))) if numeric else tuple(points)


def spread(sample: Sample, label: MetricLabel, band: Band) -> tuple[float, float] | None:
    if band == "boot":
        found = bootstrap_intervals([list(sample.seeds.values())])[0]
    else:
        found = band_of(SamplePoint("", sample), band)
    return (found[0] * label.scale, found[1] * label.scale) if found else None


def against_figure(info: AgainstInfo) -> dict[str, Any]:
    x: dict[str, Any] = {"title": {"text": axis_title(info.axis).capitalize()}, **x_scale(info)}
    return {
        "data": [against_trace(line, info) for line in info.lines],
        "layout": {"hovermode": "closest", "xaxis": x, "yaxis": {"title": {"text": info.label.axis}}},
    }


def x_scale(info: AgainstInfo) -> dict[str, Any]:
    """Words as they are; numbers that span decades on a logarithmic axis with a tick at each."""
    if not info.numeric:
        return {"type": "category"}
    places = sorted({float(point.x) for line in info.lines for point in line.points})
    if len(places) < 3 or places[0] <= 0 or places[-1] / places[0] < DECADES:
        return {}
    return {"type": "log", "tickmode": "array", "tickvals": places, "ticktext": [worded(place) for place in places]}


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
        "customdata": [point.n for point in line.points],
        "hovertemplate": (
            f"{line.label}<br>{axis_title(info.axis)} %{{x}}: %{{y:.{digits}f}} · n=%{{customdata}}<extra></extra>"
        ),
        "line": {"dash": line.dash, "width": 2},
        "marker": {"size": 7},
        "meta": {"hue": line.hue},
    }


def against_legend(info: AgainstInfo) -> list[dict[str, Any]]:
    return [
        {"label": line.label, "hue": line.hue, "dash": line.dash, "n": seed_range([point.n for point in line.points])}
        for line in info.lines
    ]


def against_description(info: AgainstInfo) -> str:
    if not info.lines:
        return f"{info.label.text}: no finished run has a value on this axis yet."
    told = "; ".join(
        f"{line.label}: "
        + ", ".join(f"{point.mean:.{info.label.digits}f} at {worded(point.x)}" for point in line.points)
        for line in info.lines
    )
    return f"{info.label.axis}, against {axis_title(info.axis)}. {told}."


def against_notes(info: AgainstInfo) -> str:
    notes = []
    if any(point.band for line in info.lines for point in line.points):
        notes.append(f"Bars: {MEANINGS[info.band]}")
    if info.without:
        notes.append(f"{info.without} cells have no {axis_title(info.axis)}")
    return " · ".join(notes)


def against_table(info: AgainstInfo) -> Table:
    columns = ("line", info.axis, "mean", "low", "high", "n")
    scale = info.label.scale
    rows = tuple(
        (line.label, point.x, point.mean / scale, *unscaled(point.band, scale), point.n)
        for line in info.lines
        for point in line.points
    )
    return Table(columns, rows)


def unscaled(band: tuple[float, float] | None, scale: float) -> tuple[float | None, float | None]:
    return (band[0] / scale, band[1] / scale) if band else (None, None)
