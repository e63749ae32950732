"""What an accuracy costs: each cell's value against its total traffic or time, with the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import DataTable
from experiments.charts.panels import PANELS_ACROSS, PanelGrid, on_panel, panel_grid, panel_layout
from experiments.charts.styles import CellStyle
from experiments.compare.charts.curves import XAxis
from experiments.compare.charts.values import samples_note, seeds_text
from experiments.labels.metrics import MetricLabel
from experiments.statistics.over_seeds import Sample


@dataclass(frozen=True)
class CostPoint:
    """Means over seeds; `colour` is what the hue stands for.

    `front`: no other cell of its panel has at least as much for less; a cell that lost seeds is neither on it nor
    before it.
    """

    label: str
    colour: str
    hue: int
    cost: float
    value: float
    std: float | None
    n: int
    front: bool
    lost: int = 0
    missed: int = 0
    panel: str = ""


@dataclass(frozen=True)
class ParetoInfo:
    label: MetricLabel
    cost: XAxis
    points: tuple[CostPoint, ...]
    lost_note: str = ""
    narrow: bool = False

    @property
    def grid(self) -> PanelGrid:
        """Each with its own range of costs: those of one data set say nothing of another's."""
        places = [("", point.panel) for point in self.points]
        return panel_grid(places, 1 if self.narrow else PANELS_ACROSS, own_x=True)

    @property
    def front(self) -> list[CostPoint]:
        """Panel by panel, each from the cheapest on."""
        panels = self.grid.columns
        return sorted(
            (point for point in self.points if point.front), key=lambda point: (panels.index(point.panel), point.cost)
        )

    @property
    def colours(self) -> dict[str, list[CostPoint]]:
        points_by_colour: dict[str, list[CostPoint]] = {}
        for point in self.points:
            points_by_colour.setdefault(point.colour, []).append(point)
        return points_by_colour


def pareto_info(
    styles: Mapping[str, CellStyle],
    values: Mapping[str, Sample],
    costs: Mapping[str, Sample],
    label: MetricLabel,
    cost: XAxis,
    *,
    narrow: bool = False,
) -> ParetoInfo:
    """Panels are the styles' columns: each has a front of its own."""
    measured_cells: list[tuple[str, float, float]] = []
    for cell in styles:
        value, spent = values.get(cell, Sample({})).mean, costs.get(cell, Sample({})).mean
        if value is not None and spent is not None:
            measured_cells.append((cell, spent * cost.scale, value * label.scale))
    sign = 1 if label.higher_is_better else -1
    front: dict[str, bool] = {}
    for panel in {style.column for style in styles.values()}:
        complete = {
            cell: (spent, sign * value)
            for cell, spent, value in measured_cells
            if values[cell].complete and styles[cell].column == panel
        }
        front |= dict(zip(complete, on_front(list(complete.values())), strict=True))
    points = []
    for cell, spent, value in measured_cells:
        style, each = styles[cell], values[cell]
        points.append(
            CostPoint(
                *(style.whole_label, style.colour, style.line.hue, spent, value, scaled_std(each, label), each.n),
                front=front.get(cell, False),
                lost=each.lost,
                missed=each.missed,
                panel=style.column,
            )
        )
    every = [values[cell] for cell in styles if cell in values]
    return ParetoInfo(label, cost, tuple(points), samples_note(every), narrow)


def scaled_std(sample: Sample, label: MetricLabel) -> float | None:
    return None if sample.std is None else sample.std * label.scale


def on_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether no other point costs at most as much for at least as much value, one of them strictly."""
    return [
        not any(
            cost <= own_cost and value >= own_value and (cost, value) != (own_cost, own_value) for cost, value in points
        )
        for own_cost, own_value in points
    ]


def pareto_figure(info: ParetoInfo) -> dict[str, Any]:
    grid = info.grid
    x = {"title": {"text": f"{info.cost.title}, whole run"}, "rangemode": "tozero"}
    y = {"title": {"text": info.label.axis}}
    layout = {"xaxis": x, "yaxis": y} if grid.panels == 1 else panel_layout(grid, x, y)
    data = []
    for place, panel in enumerate(grid.columns, start=1):
        front = [point for point in info.front if point.panel == panel]
        here = {
            colour: points
            for colour, every in info.colours.items()
            if (points := [point for point in every if point.panel == panel])
        }
        traces = [
            *([front_trace(front)] if len(front) > 1 else []),
            *(cost_trace(*each, info) for each in here.items()),
        ]
        data += [on_panel(trace, place) for trace in traces]
    return {"data": data, "layout": {"hovermode": "closest", **layout}}


def front_trace(front: Sequence[CostPoint]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "hoverinfo": "skip",
        "x": [point.cost for point in front],
        "y": [point.value for point in front],
        "line": {"dash": "dot", "width": 1.5, "shape": "hv"},
        "meta": {"hue": 7},
    }


def cost_trace(colour: str, points: Sequence[CostPoint], info: ParetoInfo) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": colour,
        "legendgroup": colour,
        "x": [point.cost for point in points],
        "y": [point.value for point in points],
        "error_y": {"type": "data", "array": [point.std or 0 for point in points], "width": 3, "thickness": 0.8},
        "marker": {
            "size": [12 if point.front else 8 for point in points],
            "symbol": ["diamond" if point.front else "circle-open" for point in points],
            "line": {"width": 2},
        },
        "customdata": [cost_point_text(point, info) for point in points],
        "hovertemplate": "%{customdata}<extra></extra>",
        "meta": {"hue": points[0].hue},
    }


def cost_point_text(point: CostPoint, info: ParetoInfo) -> str:
    value, unit = info.label.format_scaled(point.value), f" {info.cost.unit}" if info.cost.unit else ""
    front = " · Pareto front" if point.front else ""
    return f"{point.label}: {value} for {point.cost:,.4g}{unit} · {seeds_text(point)}{front}"


def pareto_legend(info: ParetoInfo) -> list[dict[str, Any]]:
    return [
        {
            "label": colour,
            "hue": points[0].hue,
            "dash": "solid",
            "n": str(len(points)),
            "text": f"{colour} · {len(points)} cell{'s' if len(points) > 1 else ''}",
        }
        for colour, points in info.colours.items()
    ]


def pareto_description(info: ParetoInfo) -> str:
    if not info.points:
        return f"{info.label.text}: no finished run has both numbers yet."
    front = "; ".join(cost_point_text(point, info).removesuffix(" · Pareto front") for point in info.front)
    return (
        f"{info.label.axis}, against {info.cost.plain_with_unit}, of {len(info.points)} cells. Pareto front: {front}."
    )


def pareto_notes(info: ParetoInfo) -> str:
    front = ", ".join(point.label for point in info.front[:6])
    more = f" and {len(info.front) - 6} more" if len(info.front) > 6 else ""
    of_each = " of each data set" if info.grid.panels > 1 else ""
    marks = (
        f"◆ Pareto front{of_each} (no other cell has more for less): {front}{more} · bars: std over seeds"
        if info.points
        else ""
    )
    lost = f"{info.lost_note}, and cells that lost seeds not on the front" if info.lost_note else ""
    return " · ".join(filter(None, [marks, lost]))


def pareto_table(info: ParetoInfo) -> DataTable:
    scale = info.label.scale
    rows = tuple(
        (
            *(p.label, p.cost / info.cost.scale, p.value / scale, None if p.std is None else p.std / scale, p.n),
            *(p.front, p.lost, p.missed),
        )
        for p in info.points
    )
    return DataTable(("line", info.cost.name, "mean", "std", "n", "front", "lost", "missed"), rows)
