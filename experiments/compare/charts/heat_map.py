"""A value over two axes: a map for each combination of everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import DataTable
from experiments.charts.panels import PANELS_ACROSS, on_panel, panel_grid, panel_layout
from experiments.compare.charts.values import samples_note, seeds_text
from experiments.labels.metrics import MetricLabel
from experiments.labels.names import axis_title, value_text
from experiments.statistics.over_seeds import Sample

MOST_NUMBERED_FIELDS = 144
"""Up to so many fields of a map have their number in them."""


@dataclass(frozen=True)
class HeatInfo:
    """`panels` has, by the words of everything else, a row of samples for each value of `y`, in stored units."""

    label: MetricLabel
    x_axis: str
    y_axis: str
    x: tuple[str, ...]
    y: tuple[str, ...]
    panels: tuple[tuple[str, tuple[tuple[Sample | None, ...], ...]], ...]

    def cell_value(self, sample: Sample | None) -> float | None:
        return None if sample is None or sample.mean is None else sample.mean * self.label.scale

    @property
    def samples(self) -> list[Sample]:
        return [sample for _, rows in self.panels for row in rows for sample in row if sample]


def heat_info(
    rest: Mapping[str, str],
    on_x: Mapping[str, Any],
    on_y: Mapping[str, Any],
    samples: Mapping[str, Sample],
    label: MetricLabel,
    axes: tuple[str, str],
) -> HeatInfo:
    """`rest` tells what the two axes do not: each such combination is a map of its own."""
    x, y = sort_labels({on_x[cell] for cell in rest}), sort_labels({on_y[cell] for cell in rest})
    fields: dict[str, dict[tuple[str, str], Sample]] = {}
    for cell in rest:
        here = fields.setdefault(rest[cell], {})
        if cell in samples:
            here[value_text(on_x[cell]), value_text(on_y[cell])] = samples[cell]
    panels = tuple(
        (words, tuple(tuple(samples_by_field.get((column, row)) for column in x) for row in y))
        for words, samples_by_field in fields.items()
    )
    return HeatInfo(label, *axes, x, y, panels)


def sort_labels(values: set[Any]) -> tuple[str, ...]:
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return tuple(value_text(value) for value in (sorted(values) if numeric else sorted(values, key=value_text)))


def heat_figure(info: HeatInfo, *, narrow: bool = False) -> dict[str, Any]:
    grid = panel_grid([("", words) for words, _ in info.panels], 1 if narrow else PANELS_ACROSS)
    values = [value for sample in info.samples if (value := info.cell_value(sample)) is not None]
    traces = []
    for words, rows in info.panels:
        place = grid.place("", words)
        if place is not None:
            traces.append(on_panel(heat_trace(info, rows, values, scale=place == grid.panels), place))
    layout = panel_layout(grid, heat_axis(info.x_axis), heat_axis(info.y_axis))
    return {"data": traces if values else [], "layout": {**layout, "hovermode": "closest"}}


def heat_trace(
    info: HeatInfo, rows: Sequence[Sequence[Sample | None]], values: Sequence[float], *, scale: bool
) -> dict[str, Any]:
    digits = info.label.digits
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": list(info.x),
        "y": list(info.y),
        "z": [[info.cell_value(sample) for sample in row] for row in rows],
        "customdata": [[seeds_text(sample) if sample else "" for sample in row] for row in rows],
        "zmin": min(values, default=0),
        "zmax": max(values, default=1),
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": (
            f"{axis_title(info.x_axis)} %{{x}}, {axis_title(info.y_axis)} %{{y}}: %{{z:.{digits}f}} · %{{customdata}}"
            "<extra></extra>"
        ),
        "meta": {"hue": 0, "heat": True, "scale": scale, "title": info.label.unit},
    }
    if len(info.x) * len(info.y) <= MOST_NUMBERED_FIELDS:
        trace["texttemplate"] = f"%{{z:.{min(digits, 2)}f}}"
    return trace


def heat_axis(axis: str) -> dict[str, Any]:
    return {"title": {"text": axis_title(axis).capitalize()}, "type": "category", "showgrid": False}


def heat_description(info: HeatInfo) -> str:
    ranges = [
        f"{words or info.label.text}: "
        f"from {info.label.format_scaled(min(values))} to {info.label.format_scaled(max(values))}"
        for words, rows in info.panels
        if (values := [value for row in rows for each in row if (value := info.cell_value(each)) is not None])
    ]
    axes = f"{axis_title(info.x_axis)} and {axis_title(info.y_axis)}"
    return f"{info.label.axis}, over {axes}. {'; '.join(ranges) or 'Nothing is finished yet'}."


def heat_notes(info: HeatInfo) -> str:
    return " · ".join(filter(None, ["Means over seeds", samples_note(info.samples)]))


def heat_table(info: HeatInfo) -> DataTable:
    rows = tuple(
        (words, column, row, sample.mean, sample.n, sample.lost, sample.missed)
        for words, fields in info.panels
        for row, line in zip(info.y, fields, strict=True)
        for column, sample in zip(info.x, line, strict=True)
        if sample is not None
    )
    return DataTable(("map", info.x_axis, info.y_axis, "mean", "n", "lost", "missed"), rows)
