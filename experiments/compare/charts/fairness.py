"""How accuracies spread over clients: the whole distribution, and the worst tenth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from experiments.charts.chart import DataTable
from experiments.charts.curves import seed_range
from experiments.charts.panels import PANELS_ACROSS, on_panel, panel_grid, panel_layout
from experiments.charts.styles import CellStyle
from experiments.labels.metrics import MetricLabel

SpreadShape = Literal["ecdf", "violin"]
CLIENT_ACCURACY = MetricLabel("client_accuracy", "Accuracy of a client", "%", 100.0, 2, higher_is_better=True)
MOST_NAMED_VIOLINS = 8
"""More have no names below them, but those of the legend."""


@dataclass(frozen=True)
class ClientSpread:
    """All clients of all seeds of a cell, sorted, in percent; `mean`, `worst` tenth and `std` are means over seeds.

    `label` is without what its panel tells.
    """

    label: str
    hue: int
    dash: str
    seeds: int
    values: tuple[float, ...]
    mean: float
    worst: float
    std: float
    panel: str = ""

    @property
    def whole_label(self) -> str:
        return " · ".join(word for word in (self.label, self.panel) if word)


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
            line = cell_style.line
            spreads.append(
                ClientSpread(
                    line.label,
                    line.hue,
                    line.dash,
                    len(seeds),
                    tuple(sorted(value for row in seeds for value in row)),
                    mean=float(np.mean([np.mean(row) for row in seeds])),
                    worst=float(np.mean([worst_tenth(row) for row in seeds])),
                    std=float(np.mean([np.std(row) for row in seeds])),
                    panel=cell_style.panel,
                )
            )
    return tuple(spreads)


def fairness_figure(spreads: Sequence[ClientSpread], shape: SpreadShape, *, narrow: bool = False) -> dict[str, Any]:
    """In the panels of the spreads; on a `narrow` screen below each other."""
    grid = panel_grid([("", each.panel) for each in spreads], 1 if narrow else PANELS_ACROSS)
    if shape == "violin":
        x = {"title": {"text": ""}, "type": "category", "showticklabels": len(spreads) <= MOST_NAMED_VIOLINS}
        y: dict[str, Any] = {"title": {"text": CLIENT_ACCURACY.axis}}
    else:
        x = {"title": {"text": CLIENT_ACCURACY.axis}}
        y = {"title": {"text": "Clients at or below, %"}, "range": [0, 101]}
    trace = violin_trace if shape == "violin" else ecdf_trace
    layout = {"xaxis": x, "yaxis": y} if grid.panels == 1 else panel_layout(grid, x, y)
    return {
        "data": [on_panel(trace(each), grid.place("", each.panel) or 1) for each in spreads],
        "layout": {"hovermode": "closest", **layout},
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
        "hovertemplate": f"{spread.whole_label}: %{{y:.0f}} % of clients at %{{x:.2f}} % or below<extra></extra>",
        "line": {"shape": "hv", "width": 2, "dash": spread.dash},
        "meta": {"hue": spread.hue},
    }


def violin_trace(spread: ClientSpread) -> dict[str, Any]:
    return {
        "type": "violin",
        "name": spread.label,
        "legendgroup": spread.label,
        "y": list(spread.values),
        "points": "all" if len(spread.values) <= 100 else "outliers",
        "jitter": 0.3,
        "pointpos": 0,
        "box": {"visible": True},
        "meanline": {"visible": True},
        "spanmode": "hard",
        "hoveron": "violins+points",
        "marker": {"size": 3, "opacity": 0.6},
        "meta": {"hue": spread.hue},
    }


def fairness_legend(spreads: Sequence[ClientSpread]) -> list[dict[str, Any]]:
    """One entry per label over all panels."""
    labels: dict[str, list[ClientSpread]] = {}
    for each in spreads:
        labels.setdefault(each.label, []).append(each)
    return [
        {
            "label": label,
            "hue": same[0].hue,
            "dash": same[0].dash,
            "n": seed_range(each.seeds for each in same),
        }
        for label, same in labels.items()
    ]


def fairness_description(spreads: Sequence[ClientSpread]) -> str:
    if not spreads:
        return "No accuracies of single clients: launch with `evaluation: {on: clients}`."
    ends = "; ".join(f"{each.whole_label}: mean {each.mean:.2f}, worst tenth {each.worst:.2f}" for each in spreads)
    return f"Distribution of clients' accuracies in percent, at the last evaluated round. {ends}."


def fairness_table(spreads: Sequence[ClientSpread]) -> DataTable:
    rows = tuple((each.whole_label, value / CLIENT_ACCURACY.scale) for each in spreads for value in each.values)
    return DataTable(("line", "accuracy"), rows)
