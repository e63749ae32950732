"""Published values as open diamonds beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.panels import on_panel
from experiments.charts.styles import CellStyle
from experiments.compare.charts.against import AgainstInfo, axis_position
from experiments.compare.charts.bars import BarsInfo
from experiments.compare.charts.curves import CompareCurvesInfo

PUBLISHED_NOTE = "Open diamonds: published values"


@dataclass(frozen=True)
class PublishedMark:
    """A printed value in the chart's unit, as printed, and where it stands; nowhere of its own where `x` is None."""

    value: float
    text: str
    x: float | None = None


def curve_published_marks(
    info: CompareCurvesInfo, styles: Mapping[str, CellStyle], marks: Mapping[str, Sequence[PublishedMark]]
) -> list[dict[str, Any]]:
    """A trace for each cell that has any; only over rounds, of which printed values tell."""
    traces = []
    for cell, cell_marks in marks.items():
        style = styles.get(cell)
        panel = info.grid.place(*info.panel_words(style)) if style else None
        if style and panel and cell_marks and not info.x.spent:
            trace = mark_trace(cell_marks, [mark.x for mark in cell_marks], style.line.label, style.line.hue)
            traces.append(on_panel(trace, panel))
    return traces


def against_published_marks(
    info: AgainstInfo, styles: Mapping[str, CellStyle], on_axis: Mapping[str, Any], marks: Mapping[str, PublishedMark]
) -> list[dict[str, Any]]:
    """One trace for each line."""
    points_by_line: dict[tuple[str, str], list[tuple[Any, PublishedMark]]] = {}
    for cell, mark in marks.items():
        if cell in styles:
            line = styles[cell].panel, styles[cell].line.label
            points_by_line.setdefault(line, []).append((axis_position(on_axis[cell]), mark))
    hues = {(line.panel, line.label): line.hue for line in info.lines}
    return [
        on_panel(
            mark_trace([mark for _, mark in points], [x for x, _ in points], label, hues[panel, label]),
            info.grid.place("", panel) or 1,
        )
        for (panel, label), points in points_by_line.items()
        if (panel, label) in hues
    ]


def bar_published_marks(
    info: BarsInfo, styles: Mapping[str, CellStyle], marks: Mapping[str, PublishedMark]
) -> list[dict[str, Any]]:
    """Upon the bars of their cells, in the colour of text: their own hue would not be seen there."""
    bars = {name: mark for cell, mark in marks.items() if cell in styles and (name := styles[cell].whole_label)}
    lying = [mark_trace([mark], [name], name, 0) for name, mark in bars.items() if name in info.names]
    return [{**each, "x": each["y"], "y": each["x"], "meta": {"ink": True}} for each in lying]


def mark_trace(marks: Sequence[PublishedMark], x: Sequence[Any], label: str, hue: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "legendgroup": label,
        "x": list(x),
        "y": [mark.value for mark in marks],
        "customdata": [mark.text for mark in marks],
        "marker": {"symbol": "diamond-open", "size": 10, "line": {"width": 2}},
        "hovertemplate": f"{label}: published %{{customdata}}<extra></extra>",
        "meta": {"hue": hue},
    }


def add_published_marks(figure: dict[str, Any], published_marks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {**figure, "data": [*figure["data"], *published_marks]}


def published_marks_text(published_marks: Sequence[dict[str, Any]]) -> str:
    """In words; nothing where there are none."""
    texts = [
        f"{trace['legendgroup']} at {x}: {text}"
        for trace in published_marks
        for x, text in zip(trace["x"], trace["customdata"], strict=True)
    ]
    return f" Published: {'; '.join(texts)}." if texts else ""
