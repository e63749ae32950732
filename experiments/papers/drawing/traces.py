"""Plotly's traces, as far as our charts use them, drawn by matplotlib."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from experiments.papers.drawing.appearance import MUTED, Appearance
from experiments.papers.drawing.panels import Panel, plain_text

SYMBOLS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
    "line-ns": "|",
}
MARKED_POINTS = 6
"""So many markers on a curve tell it apart and leave it readable."""
BAND_OPACITY = 0.16
BAR_THICKNESS = 0.7
DODGE_STEP = 3.2
"""Points between the error bars of neighbouring lines."""
CLEAR_SHARE = 0.7
"""Of the room between two places, at most so much is used."""
LABEL = re.compile(r"%\{(z|text)(?::([^}]*))?\}")


def draw_trace(panel: Panel, trace: Mapping[str, Any], look: Appearance, dodge: float, size: float) -> None:
    draw: Callable[..., None] = {
        "scatter": draw_scatter,
        "bar": draw_bar,
        "heatmap": draw_heat,
        "violin": draw_violin,
    }[trace["type"]]
    draw(panel, trace, look, dodge, size)


def dodges(traces: Sequence[Mapping[str, Any]], width: float) -> list[float]:
    """Points by which each is moved aside, so that error bars at one place stand beside each other.

    `width` is that of a panel, in points: bars stay clear of those of the next place. What belongs to a line, such as a
    published value, moves with it; points whose place was measured stay there.
    """
    groups: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    for trace in traces:
        if "lines" in trace.get("mode", "") and shows_bars(trace, "error_y"):
            groups.setdefault((trace.get("xaxis"), trace.get("yaxis")), []).append(trace)
    by_line: dict[Any, float] = {}
    for lines in groups.values():
        places = len({x for line in lines for x in line["x"]})
        step = min(DODGE_STEP, CLEAR_SHARE * width / places / len(lines))
        for order, line in enumerate(lines):
            by_line[line.get("legendgroup")] = round((order - (len(lines) - 1) / 2) * step, 3)
    return [by_line.get(trace.get("legendgroup"), 0.0) for trace in traces]


def shows_bars(trace: Mapping[str, Any], name: str) -> bool:
    bars = trace.get(name) or {}
    return bool(bars.get("visible", True) and any(bars.get("array") or ()))


def draw_scatter(panel: Panel, trace: Mapping[str, Any], look: Appearance, dodge: float, size: float) -> None:
    axes, meta = panel.axes, trace.get("meta", {})
    x, y = panel.x.positions(trace["x"]), panel.y.positions(trace["y"])
    colour = "#000000" if meta.get("ink") else MUTED if meta.get("muted") else look.colour
    if trace.get("fill") == "toself":
        for outline in outlines(x, y):
            axes.fill(*outline, color=colour, alpha=BAND_OPACITY, linewidth=0)
        return
    include_in_limits(axes, trace, x, y)
    transform = axes.transData + ScaledTranslation(dodge / 72, 0, axes.figure.dpi_scale_trans)
    mode = str(trace.get("mode", "lines"))
    if shows_bars(trace, "error_y") or shows_bars(trace, "error_x"):
        axes.errorbar(
            *(x, y, bar_lengths(trace, "error_y"), bar_lengths(trace, "error_x")),
            fmt="none",
            ecolor=colour,
            elinewidth=0.7,
            capsize=1.6,
            capthick=0.7,
            transform=transform,
        )
    if "lines" in mode and len(x) > 1:
        line = trace.get("line") or {}
        stepped = {"hv": "steps-post", "vh": "steps-pre"}.get(line.get("shape", ""), "default")
        marks: dict[str, Any] = {}
        if "markers" not in mode and trace.get("name") and not meta.get("muted"):
            every = max(1, len(x) // MARKED_POINTS)
            marks = {"marker": look.marker, "markersize": 0.4 * size, "markevery": (every // 2, every)}
        width = 0.6 if meta.get("muted") else 0.45 * float(line.get("width", 2))
        axes.plot(
            *(x, y), color=colour, linestyle=look.dash, linewidth=width, drawstyle=stepped, transform=transform, **marks
        )
    if "markers" in mode:
        draw_markers(axes, (x, y), trace, look.marker, colour, transform, size)
    if "text" in mode:
        for place, text in enumerate(trace.get("text", ())):
            axes.annotate(plain_text(text), (x[place], y[place]), (3, 0), textcoords="offset points", va="center")


def include_in_limits(axes: Axes, trace: Mapping[str, Any], x: Sequence[float], y: Sequence[float]) -> None:
    """Bars and all: matplotlib does not look at what is moved aside."""
    points = np.column_stack([x, y])
    for column, name in enumerate(("error_x", "error_y")):
        below, above = bar_lengths(trace, name) or (None, None)
        for lengths in (below, above):
            if lengths is not None:
                ends = np.column_stack([x, y])
                ends[:, column] += np.array(lengths) * (-1 if lengths is below else 1)
                points = np.vstack([points, ends])
    axes.update_datalim(points[np.isfinite(points).all(axis=1)])
    axes.autoscale_view()


def outlines(x: Sequence[float], y: Sequence[float]) -> list[tuple[list[float], list[float]]]:
    """Gaps separate the stretches of a band."""
    parts: list[tuple[list[float], list[float]]] = [([], [])]
    for across, up in zip(x, y, strict=True):
        if across != across:
            parts.append(([], []))
        else:
            parts[-1][0].append(across)
            parts[-1][1].append(up)
    return [part for part in parts if part[0]]


def bar_lengths(trace: Mapping[str, Any], name: str) -> list[list[float]] | None:
    if not shows_bars(trace, name):
        return None
    bars = trace[name]
    above = [float(each or 0) for each in bars["array"]]
    below = [float(each or 0) for each in bars.get("arrayminus", bars["array"])]
    return [below, above]


def draw_markers(
    axes: Axes,
    points: tuple[Sequence[float], Sequence[float]],
    trace: Mapping[str, Any],
    own_marker: str,
    colour: str,
    transform: Any,
    size: float,
) -> None:
    marker = trace.get("marker") or {}
    count = len(points[0])
    symbols, sizes = each_value(marker.get("symbol", ""), count), each_value(marker.get("size", 7), count)
    for symbol in dict.fromkeys(symbols):
        places = [place for place in range(count) if symbols[place] == symbol]
        plain, hollow = symbol.removesuffix("-open"), symbol.endswith("-open")
        # A circle is what a chart has where it tells nothing by the shape: there the line's own marker is told.
        shape = own_marker if plain in ("", "circle") else SYMBOLS.get(plain, "o")
        axes.scatter(
            [points[0][place] for place in places],
            [points[1][place] for place in places],
            s=[(0.075 * size * float(sizes[place])) ** 2 for place in places],
            marker=shape,
            facecolors="white" if hollow else colour,
            edgecolors=colour,
            linewidths=0.8,
            transform=transform,
            zorder=3,
        )


def each_value(value: Any, count: int) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value] * count


def draw_bar(panel: Panel, trace: Mapping[str, Any], look: Appearance, dodge: float, size: float) -> None:
    lying = trace.get("orientation") == "h"
    x, y = panel.x.positions(trace["x"]), panel.y.positions(trace["y"])
    fill: dict[str, Any] = {"color": look.colour, "hatch": look.hatch, "edgecolor": "white", "linewidth": 0.4}
    whiskers: dict[str, Any] = {"error_kw": {"elinewidth": 0.7, "capsize": 1.6, "capthick": 0.7}}
    if lying:
        left, error = trace.get("starts", 0.0), bar_lengths(trace, "error_x")
        panel.axes.barh(y, x, BAR_THICKNESS, left=left, xerr=error, **fill, **whiskers)
    else:
        bottom, error = trace.get("starts", 0.0), bar_lengths(trace, "error_y")
        panel.axes.bar(x, y, BAR_THICKNESS, bottom=bottom, yerr=error, **fill, **whiskers)


def stack_traces(traces: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Each bar with where it starts: at the end of the one before, as in all our charts; stacked lines likewise."""
    ends: dict[tuple[Any, ...], float] = {}
    result: list[Mapping[str, Any]] = []
    for trace in traces:
        if "stackgroup" in trace:
            result.append({**trace, "y": add_to_stack(ends, trace)})
            continue
        if trace["type"] != "bar":
            result.append(trace)
            continue
        places, lengths = (trace[key] for key in (("y", "x") if trace.get("orientation") == "h" else ("x", "y")))
        keys = [(trace.get("xaxis"), trace.get("yaxis"), place) for place in places]
        result.append({**trace, "starts": [ends.get(key, 0.0) for key in keys]})
        for key, length in zip(keys, lengths, strict=True):
            ends[key] = ends.get(key, 0.0) + (length or 0.0)
    return result


def add_to_stack(ends: dict[tuple[Any, ...], float], trace: Mapping[str, Any]) -> list[float]:
    tops = []
    for place, value in zip(trace["x"], trace["y"], strict=True):
        key = trace["stackgroup"], place
        ends[key] = ends.get(key, 0.0) + (value or 0.0)
        tops.append(ends[key])
    return tops


def draw_heat(panel: Panel, trace: Mapping[str, Any], look: Appearance, dodge: float, size: float) -> None:
    axes = panel.axes
    values = np.array([[np.nan if value is None else value for value in row] for row in trace["z"]], dtype=float)
    x = panel.x.positions(trace["x"]) if "x" in trace else list(range(values.shape[1]))
    y = panel.y.positions(trace["y"]) if "y" in trace else list(range(values.shape[0]))
    shades = LinearSegmentedColormap.from_list("shades", ["#ffffff", look.colour])
    low, high = trace.get("zmin"), trace.get("zmax")
    low = float(np.nanmin(values)) if low is None else float(low)
    high = float(np.nanmax(values)) if high is None else float(high)
    mesh = axes.pcolormesh(
        x,
        y,
        values,
        cmap=shades,
        vmin=low,
        vmax=high,
        shading="nearest",
        edgecolors="white",
        linewidth=0.4,
        rasterized=values.size > 5_000,
    )
    if "texttemplate" in trace:
        for row, up in enumerate(y):
            for column, across in enumerate(x):
                dark = high > low and (values[row, column] - low) / (high - low) > 0.55
                text = field_text(trace, row, column)
                axes.text(
                    across, up, text, ha="center", va="center", color="white" if dark else "black", fontsize=0.85 * size
                )
    if trace.get("meta", {}).get("scale"):
        figure = axes.figure
        assert isinstance(figure, Figure)
        bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=25)
        bar.outline.set_visible(False)
        bar.ax.set_title(str(trace["meta"].get("title", "")))


def field_text(trace: Mapping[str, Any], row: int, column: int) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] == "text":
            return str(trace["text"][row][column])
        number = trace["z"][row][column]
        return "" if number is None else format(number, match[2] or "")

    return LABEL.sub(value, str(trace["texttemplate"]))


def draw_violin(panel: Panel, trace: Mapping[str, Any], look: Appearance, dodge: float, size: float) -> None:
    place = panel.x.positions([trace.get("name", "")])[0]
    values = [float(value) for value in trace["y"] if value is not None]
    if len(set(values)) > 1:
        bodies: Any = panel.axes.violinplot(values, [place], widths=0.8, showextrema=False)["bodies"]
        for body in bodies:
            body.set(facecolor=look.colour, alpha=0.3)
    panel.axes.boxplot(
        values,
        positions=[place],
        widths=0.16,
        manage_ticks=False,
        flierprops={"markersize": 2},
        medianprops={"color": look.colour},
        boxprops={"linewidth": 0.6},
        whiskerprops={"linewidth": 0.6},
        capprops={"linewidth": 0.6},
    )
