"""What an accuracy costs: each cell's value against its total traffic or time, with the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.compare_curves import XAxis
from experiments.charts.intervals import Sample
from experiments.charts.metrics import MetricLabel
from experiments.charts.placing import Placed
from experiments.charts.tables import Table


@dataclass(frozen=True)
class CostPoint:
    """Means over the seeds that have both numbers; `front`: no other cell is at least as good for at most the cost."""

    label: str
    hue: int
    cost: float
    value: float
    std: float | None
    n: int
    front: bool


@dataclass(frozen=True)
class ParetoInfo:
    label: MetricLabel
    cost: XAxis
    points: tuple[CostPoint, ...]

    @property
    def front(self) -> list[CostPoint]:
        return sorted((point for point in self.points if point.front), key=lambda point: point.cost)


def pareto_info(
    places: Mapping[str, Placed],
    values: Mapping[str, Sample],
    costs: Mapping[str, Sample],
    label: MetricLabel,
    cost: XAxis,
) -> ParetoInfo:
    found: list[tuple[str, float, float]] = []
    for cell in places:
        value, spent = values.get(cell, Sample({})).mean, costs.get(cell, Sample({})).mean
        if value is not None and spent is not None:
            found.append((cell, spent * cost.scale, value * label.scale))
    best = on_front([(spent, value if label.higher_is_better else -value) for _, spent, value in found])
    return ParetoInfo(
        label,
        cost,
        tuple(
            CostPoint(
                places[cell].whole_label,
                places[cell].style.hue,
                spent,
                value,
                scaled_std(values[cell], label),
                values[cell].n,
                first,
            )
            for (cell, spent, value), first in zip(found, best, strict=True)
        ),
    )


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
        "line": {"dash": "dot", "width": 1.5, "shape": "hv" if info.label.higher_is_better else "vh"},
        "meta": {"hue": 7},
    }
    return {
        "data": [*([line] if len(front) > 1 else []), *(point_trace(point, info) for point in info.points)],
        "layout": {
            "hovermode": "closest",
            "xaxis": {"title": {"text": f"{info.cost.title}, whole run"}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": info.label.axis}},
        },
    }


def point_trace(point: CostPoint, info: ParetoInfo) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": point.label,
        "legendgroup": point.label,
        "x": [point.cost],
        "y": [point.value],
        "error_y": {
            "type": "data",
            "array": [point.std or 0],
            "width": 3,
            "thickness": 1,
            "visible": point.std is not None,
        },
        "marker": {
            "size": 11 if point.front else 8,
            "symbol": "diamond" if point.front else "circle-open",
            "line": {"width": 2},
        },
        "hovertemplate": (
            f"{point.label}<br>%{{y:.{info.label.digits}f}} for %{{x:,.4~g}} {info.cost.unit}"
            f"{' · Pareto front' if point.front else ''} · n={point.n}<extra></extra>"
        ),
        "meta": {"hue": point.hue},
    }


def pareto_legend(info: ParetoInfo) -> list[dict[str, Any]]:
    return [
        {
            "label": point.label,
            "hue": point.hue,
            "dash": "solid",
            "n": str(point.n),
            "text": f"{'◆' if point.front else '○'} {point.label} · n={point.n}",
        }
        for point in info.points
    ]


def pareto_description(info: ParetoInfo) -> str:
    if not info.points:
        return f"{info.label.text}: no finished run has both numbers yet."
    front = "; ".join(
        f"{p.label}: {p.value:.{info.label.digits}f} for {p.cost:,.4g} {info.cost.unit}".rstrip() for p in info.front
    )
    return f"{info.label.axis}, against {info.cost.title.lower()} of {len(info.points)} cells. Pareto front: {front}."


def pareto_notes(info: ParetoInfo) -> str:
    return "◆ Pareto front: no other cell has more for less · bars: std over seeds" if info.points else ""


def pareto_table(info: ParetoInfo) -> Table:
    scale = info.label.scale
    return Table(
        ("line", info.cost.name, "mean", "std", "n", "front"),
        tuple(
            (p.label, p.cost / info.cost.scale, p.value / scale, None if p.std is None else p.std / scale, p.n, p.front)
            for p in info.points
        ),
    )
