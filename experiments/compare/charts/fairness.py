"""How accuracies spread over clients: the whole distribution, and the worst tenth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from experiments.charts.chart import Table
from experiments.charts.styles import Placed
from experiments.labels.metrics import MetricLabel

Shape = Literal["ecdf", "violin"]
LABEL = MetricLabel("client_accuracy", "Accuracy of a client", "%", 100.0, 2, higher_is_better=True)


@dataclass(frozen=True)
class Spread:
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


def fairness_info(places: Mapping[str, Placed], clients: Mapping[str, Sequence[Sequence[float]]]) -> tuple[Spread, ...]:
    """`clients` has, for each cell, the accuracies of every seed's clients. What is not finite is left out."""
    found = []
    for cell, place in places.items():
        seeds = [[value * LABEL.scale for value in row if np.isfinite(value)] for row in clients.get(cell, ())]
        seeds = [row for row in seeds if row]
        if seeds:
            together = tuple(sorted(value for row in seeds for value in row))
            means = (np.mean([np.mean(row) for row in seeds]), np.mean([worst_tenth(row) for row in seeds]))
            std = np.mean([np.std(row) for row in seeds])
            style = place.style
            found.append(
                Spread(place.whole_label, style.hue, style.dash, len(seeds), together, *map(float, (*means, std)))
            )
    return tuple(found)


def fairness_figure(spreads: Sequence[Spread], shape: Shape) -> dict[str, Any]:
    if shape == "violin":
        return violins(spreads)
    return {
        "data": [steps(each) for each in spreads],
        "layout": {
            "xaxis": {"title": {"text": LABEL.axis}},
            "yaxis": {"title": {"text": "Share of clients at or below, %"}, "range": [0, 101]},
            "hovermode": "closest",
        },
    }


def steps(spread: Spread) -> dict[str, Any]:
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


def violins(spreads: Sequence[Spread]) -> dict[str, Any]:
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
            "yaxis": {"title": {"text": LABEL.axis}},
            "hovermode": "closest",
        },
    }


def fairness_legend(spreads: Sequence[Spread]) -> list[dict[str, Any]]:
    return [{"label": each.label, "hue": each.hue, "dash": each.dash, "n": str(each.seeds)} for each in spreads]


def fairness_description(spreads: Sequence[Spread]) -> str:
    if not spreads:
        return "No accuracies of single clients: launch with `evaluation: {on: clients}`."
    told = "; ".join(f"{each.label}: mean {each.mean:.2f}, worst tenth {each.worst:.2f}" for each in spreads)
    return f"Distribution of clients' accuracies in percent, at the last evaluated round. {told}."


def fairness_table(spreads: Sequence[Spread]) -> Table:
    rows = tuple((each.label, value / LABEL.scale) for each in spreads for value in each.values)
    return Table(("line", "accuracy"), rows)
