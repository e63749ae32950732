"""How accuracies spread over clients: the whole distribution, and the worst tenth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from experiments.charts.chart import DataTable
from experiments.charts.styles import CellStyle
from experiments.labels.metrics import MetricLabel

SpreadShape = Literal["ecdf", "violin"]
CLIENT_ACCURACY = MetricLabel("client_accuracy", "Accuracy of a client", "%", 100.0, 2, higher_is_better=True)


@dataclass(frozen=True)
class ClientSpread:
    """All clients of all seeds of a cell, sorted, in percent; `mean`, `worst` tenth and `std` are means over seeds."""

    label: str
    hue: int
    dash: str
    seeds: int
    values: tuple[float, ...]
    mean: float
    worst: float
    std: float


def worst_tenth(values: Sequence[float]) -> float:
    """The mean of the lowest tenth, at least one client."""
    lowest = sorted(values)[: max(1, -(-len(values) // 10))]
    return sum(lowest) / len(lowest)


def fairness_info(
    styles: Mapping[str, CellStyle], clients: Mapping[str, Sequence[Sequence[float]]]
) -> tuple[ClientSpread, ...]:
    """`clients` has, for each cell, the accuracies of every seed's clients. What is not finite is left out."""
    spreads = []
    for cell, cell_style in styles.items():
        seeds = [
            [value * CLIENT_ACCURACY.scale for value in row if np.isfinite(value)] for row in clients.get(cell, ())
        ]
        seeds = [row for row in seeds if row]
        if seeds:
            together = tuple(sorted(value for row in seeds for value in row))
            means = (np.mean([np.mean(row) for row in seeds]), np.mean([worst_tenth(row) for row in seeds]))
            std = np.mean([np.std(row) for row in seeds])
            line = cell_style.line
            spreads.append(
                ClientSpread(
                    cell_style.whole_label, line.hue, line.dash, len(seeds), together, *map(float, (*means, std))
                )
            )
    return tuple(spreads)


def fairness_figure(spreads: Sequence[ClientSpread], shape: SpreadShape) -> dict[str, Any]:
    if shape == "violin":
        return violin_figure(spreads)
    return {
        "data": [ecdf_trace(each) for each in spreads],
        "layout": {
            "xaxis": {"title": {"text": CLIENT_ACCURACY.axis}},
            "yaxis": {"title": {"text": "Share of clients at or below, %"}, "range": [0, 101]},
            "hovermode": "closest",
        },
    }


def ecdf_trace(spread: ClientSpread) -> dict[str, Any]:
    count = len(spread.values)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": spread.label,
        "legendgroup": spread.label,
        "x": list(spread.values),
        "y": [100 * (place + 1) / count for place in range(count)],
        "hovertemplate": f"{spread.label}: %{{y:.0f}} % of clients at %{{x:.2f}} % or below<extra></extra>",
        "line": {"shape": "hv", "width": 2, "dash": spread.dash},
        "meta": {"hue": spread.hue},
    }


def violin_figure(spreads: Sequence[ClientSpread]) -> dict[str, Any]:
    data = [
        {
            "type": "violin",
            "name": each.label,
            "legendgroup": each.label,
            "y": list(each.values),
            "points": "all" if len(each.values) <= 100 else "outliers",
            "jitter": 0.3,
            "pointpos": 0,
            "box": {"visible": True},
            "meanline": {"visible": True},
            "spanmode": "hard",
            "hoveron": "violins+points",
            "marker": {"size": 3, "opacity": 0.6},
            "meta": {"hue": each.hue},
        }
        for each in spreads
    ]
    return {
        "data": data,
        "layout": {
            "xaxis": {"title": {"text": ""}, "type": "category", "showticklabels": len(data) <= 8},
            "yaxis": {"title": {"text": CLIENT_ACCURACY.axis}},
            "hovermode": "closest",
        },
    }


def fairness_legend(spreads: Sequence[ClientSpread]) -> list[dict[str, Any]]:
    return [{"label": each.label, "hue": each.hue, "dash": each.dash, "n": str(each.seeds)} for each in spreads]


def fairness_description(spreads: Sequence[ClientSpread]) -> str:
    if not spreads:
        return "No accuracies of single clients: launch with `evaluation: {on: clients}`."
    spread_texts = "; ".join(f"{each.label}: mean {each.mean:.2f}, worst tenth {each.worst:.2f}" for each in spreads)
    return f"Distribution of clients' accuracies in percent, at the last evaluated round. {spread_texts}."


def fairness_table(spreads: Sequence[ClientSpread]) -> DataTable:
    rows = tuple((each.label, value / CLIENT_ACCURACY.scale) for each in spreads for value in each.values)
    return DataTable(("line", "accuracy"), rows)
