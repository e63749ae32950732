"""What an accuracy costs: each cell's value against its total traffic or time, with the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import DataTable
from experiments.charts.styles import CellStyle
from experiments.compare.charts.curves import XAxis
from experiments.compare.charts.values import samples_note, seeds_text
from experiments.labels.metrics import MetricLabel
from experiments.statistics.over_seeds import Sample


@dataclass(frozen=True)
class CostPoint:
    """Means over seeds; `colour` is what the hue stands for.

    `front`: no other cell has at least as much for less; a cell that lost seeds is neither on it nor before it.
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


@dataclass(frozen=True)
class ParetoInfo:
    label: MetricLabel
    cost: XAxis
    points: tuple[CostPoint, ...]
    lost_note: str = ""

    @property
    def front(self) -> list[CostPoint]:
        return sorted((point for point in self.points if point.front), key=lambda point: point.cost)

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
) -> ParetoInfo:
    measured_cells: list[tuple[str, float, float]] = []
    for cell in styles:
        value, spent = values.get(cell, Sample({})).mean, costs.get(cell, Sample({})).mean
        if value is not None and spent is not None:
            measured_cells.append((cell, spent * cost.scale, value * label.scale))
    sign = 1 if label.higher_is_better else -1
    complete = {cell: (spent, sign * value) for cell, spent, value in measured_cells if values[cell].complete}
    front = dict(zip(complete, on_front(list(complete.values())), strict=True))
    points = []
    for cell, spent, value in measured_cells:
        style, each = styles[cell], values[cell]
        points.append(
            CostPoint(
                *(style.whole_label, style.colour, style.line.hue, spent, value, scaled_std(each, label), each.n),
                front=front.get(cell, False),
                lost=each.lost,
                missed=each.missed,
            )
        )
    every = [values[cell] for cell in styles if cell in values]
    return ParetoInfo(label, cost, tuple(points), samples_note(every))


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
    front = info.front
    line = {
        "type": "scatter",
        "mode": "lines",
        "hoverinfo": "skip",
        "x": [point.cost for point in front],
        "y": [point.value for point in front],
        "line": {"dash": "dot", "width": 1.5, "shape": "hv"},
        "meta": {"hue": 7},
    }
    return {
        "data": [*([line] if len(front) > 1 else []), *(cost_trace(*each, info) for each in info.colours.items())],
        "layout": {
            "hovermode": "closest",
            "xaxis": {"title": {"text": f"{info.cost.title}, whole run"}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": info.label.axis}},
        },
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
    marks = f"◆ Pareto front (no other cell has more for less): {front} · bars: std over seeds" if info.points else ""
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
