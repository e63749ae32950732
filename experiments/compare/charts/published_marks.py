"""Published values as open diamonds beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.panels import on_panel
from experiments.charts.styles import Placed
from experiments.compare.charts.against import AgainstInfo, axis_place
from experiments.compare.charts.curves import CompareCurvesInfo
from experiments.compare.displays.bars import BarsInfo

NOTE = "Open diamonds: published values"


@dataclass(frozen=True)
class Diamond:
    """A printed value in the chart's unit, as printed, and where it stands; nowhere of its own where `x` is None."""

    value: float
    text: str
    x: float | None = None


def curve_diamonds(
    info: CompareCurvesInfo, places: Mapping[str, Placed], found: Mapping[str, Sequence[Diamond]]
) -> list[dict[str, Any]]:
    """A trace for each cell that has any; only over rounds, of which printed values tell."""
    traces = []
    for cell, own in found.items():
        place = places.get(cell)
        panel = info.grid.place(*(place.stacked if info.narrow else (place.row, place.column))) if place else None
        if place and panel and own and not info.x.spent:
            traces.append(on_panel(trace(own, [each.x for each in own], place.style.label, place.style.hue), panel))
    return traces


def against_diamonds(
    info: AgainstInfo, places: Mapping[str, Placed], on_axis: Mapping[str, Any], found: Mapping[str, Diamond]
) -> list[dict[str, Any]]:
    """One trace for each line."""
    lines: dict[str, list[tuple[Any, Diamond]]] = {}
    for cell, own in found.items():
        if cell in places:
            lines.setdefault(places[cell].whole_label, []).append((axis_place(on_axis[cell]), own))
    hues = {line.label: line.hue for line in info.lines}
    return [
        trace([own for _, own in points], [x for x, _ in points], label, hues[label])
        for label, points in lines.items()
        if label in hues
    ]


def bar_diamonds(info: BarsInfo, places: Mapping[str, Placed], found: Mapping[str, Diamond]) -> list[dict[str, Any]]:
    """Upon the bars of their cells, in the colour of text: their own hue would not be seen there."""
    bars = {name: own for cell, own in found.items() if cell in places and (name := places[cell].whole_label)}
    lying = [trace([own], [name], name, 0) for name, own in bars.items() if name in info.names]
    return [{**each, "x": each["y"], "y": each["x"], "meta": {"ink": True}} for each in lying]


def trace(own: Sequence[Diamond], x: Sequence[Any], label: str, hue: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "legendgroup": label,
        "x": list(x),
        "y": [each.value for each in own],
        "customdata": [each.text for each in own],
        "marker": {"symbol": "diamond-open", "size": 10, "line": {"width": 2}},
        "hovertemplate": f"{label}: published %{{customdata}}<extra></extra>",
        "meta": {"hue": hue},
    }


def with_diamonds(figure: dict[str, Any], diamonds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {**figure, "data": [*figure["data"], *diamonds]}


def told(diamonds: Sequence[dict[str, Any]]) -> str:
    """In words; nothing where there are none."""
    each = [
        f"{trace['legendgroup']} at {x}: {text}"
        for trace in diamonds
        for x, text in zip(trace["x"], trace["customdata"], strict=True)
    ]
    return f" Published: {'; '.join(each)}." if each else ""
