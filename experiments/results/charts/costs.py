"""What a run cost, round by round: traffic and work cumulated, time by phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import DataTable
from experiments.charts.styles import DASHES
from experiments.labels.metrics import metric_label

Points = Sequence[tuple[int, float]]
MOST_POINTS = 500


@dataclass(frozen=True)
class CostKind:
    """`names` are the metrics that are drawn together; `scale` takes them to `axis`."""

    title: str
    axis: str
    names: tuple[str, ...]
    scale: float = 1.0
    stacked: bool = False


COST_KINDS: dict[str, CostKind] = {
    "traffic": CostKind("Traffic, cumulated", "MB", ("bytes_up", "bytes_down", "bytes_peer"), 1e-6),
    "time": CostKind(
        "Time by phase, cumulated", "s", ("seconds_train", "seconds_aggregate", "seconds_evaluate"), stacked=True
    ),
    "steps": CostKind("Local steps, cumulated", "steps", ("local_steps",)),
    "samples": CostKind("Samples trained on, cumulated", "samples", ("samples_seen",)),
}


@dataclass(frozen=True)
class CostsInfo:
    kind: CostKind
    lines: tuple[tuple[str, tuple[tuple[int, float], ...]], ...]


def costs_info(kind: CostKind, cumulated: Mapping[str, Points]) -> CostsInfo:
    """What never cost anything, such as traffic between clients in most strategies, has no line."""
    costs = {name: cumulated[name] for name in kind.names if name in cumulated and cumulated[name][-1][1]}
    return CostsInfo(
        kind,
        tuple(
            (metric_label(name).text, tuple((number, total * kind.scale) for number, total in thin_out(points)))
            for name, points in costs.items()
        ),
    )


def thin_out(points: Points) -> Points:
    """Cumulated values lose nothing but detail; the last one stays."""
    step = -(-len(points) // MOST_POINTS)
    return [point for place, point in enumerate(points) if (len(points) - 1 - place) % step == 0]


def costs_figure(info: CostsInfo) -> dict[str, Any]:
    data = [
        {
            "type": "scatter",
            "mode": "lines" if len(points) > 1 else "markers",
            "name": text,
            "legendgroup": text,
            "x": [number for number, _ in points],
            "y": [total for _, total in points],
            "line": {"width": 2, "dash": list(DASHES)[place]},
            "hovertemplate": f"{text}: %{{y:,.4~g}} {info.kind.axis}<extra></extra>",
            "meta": {"hue": place},
            **({"stackgroup": "all"} if info.kind.stacked else {}),
        }
        for place, (text, points) in enumerate(info.lines)
    ]
    return {
        "data": data,
        "layout": {
            "xaxis": {"title": {"text": "Round"}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": f"{info.kind.title}, {info.kind.axis}"}, "rangemode": "tozero"},
        },
    }


def costs_legend(info: CostsInfo) -> list[dict[str, Any]]:
    return [
        {"label": text, "hue": place, "dash": list(DASHES)[place], "n": len(points), "text": text}
        for place, (text, points) in enumerate(info.lines)
    ]


def costs_table(info: CostsInfo) -> DataTable:
    rows = tuple((text, number, total) for text, points in info.lines for number, total in points)
    return DataTable(("line", "round", f"total, {info.kind.axis}"), rows)


def costs_description(info: CostsInfo) -> str:
    """The chart in words, for people who do not see it."""
    if not info.lines:
        return f"{info.kind.title}: nothing was measured yet."
    ends = "; ".join(f"{text} {points[-1][1]:,.4g} {info.kind.axis}" for text, points in info.lines)
    return f"{info.kind.title}, up to round {info.lines[0][1][-1][0]}: {ends}."
