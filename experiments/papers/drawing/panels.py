"""Axes of a figure: where its panels are, what their ticks say, and the words and lines that belong to them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from experiments.core.json_values import plain_text as printable_text

NEAR = 1e-3
POINTS_PER_PIXEL = 0.75


def plain_text(text: Any) -> str:
    """Plotly's few tags are line breaks and emphasis. XML has no place for control characters."""
    return printable_text(html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<br ?/?>", "\n", str(text)))))


@dataclass
class PanelAxis:
    """One of Plotly's axes; words on it stand at 0, 1, 2, ... in their order."""

    options: Mapping[str, Any]
    categories: list[str] = field(default_factory=list)

    @property
    def domain(self) -> tuple[float, float]:
        low, high = self.options.get("domain", (0, 1))
        return float(low), float(high)

    @property
    def has_words(self) -> bool:
        return bool(self.categories)

    def positions(self, values: Sequence[Any]) -> list[float]:
        nothing = float("nan")
        if self.has_words:
            places = {word: float(place) for place, word in enumerate(self.categories)}
            return [nothing if value is None else places[str(value)] for value in values]
        return [nothing if value is None else float(value) for value in values]


@dataclass
class Panel:
    x: PanelAxis
    y: PanelAxis
    names: tuple[str, str]
    axes: Axes


def axis_option_name(reference: str) -> str:
    """ "x2" is described in "xaxis2"."""
    return f"{reference[0]}axis{reference[1:]}"


def trace_axes(trace: Mapping[str, Any]) -> tuple[str, str]:
    return str(trace.get("xaxis", "x")), str(trace.get("yaxis", "y"))


def panel_axes(data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> dict[str, PanelAxis]:
    """By name. Axes that match the first have its words, too."""
    axes: dict[str, PanelAxis] = {}
    for trace in data:
        for name, key in zip(trace_axes(trace), ("x", "y"), strict=True):
            options = layout.get(axis_option_name(name), {})
            axis = axes.setdefault(name, PanelAxis(options, list(map(str, options.get("categoryarray", ())))))
            values = (
                trace.get(key, ()) if trace["type"] != "violin" else ([trace.get("name", "")] if key == "x" else ())
            )
            if options.get("type") == "category" or any(isinstance(value, str) for value in values):
                axis.categories += [word for word in dict.fromkeys(map(str, values)) if word not in axis.categories]
    for axis in axes.values():
        other = axes.get(str(axis.options.get("matches", "")))
        if other is not None and other.has_words:
            other.categories += [word for word in axis.categories if word not in other.categories]
            axis.categories = other.categories
    return axes


def make_panels(figure: Figure, data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> list[Panel]:
    axes = panel_axes(data, layout)
    names = list(dict.fromkeys(map(trace_axes, data)))
    lefts = sorted({round(axes[x].domain[0], 3) for x, _ in names})
    tops = sorted({round(axes[y].domain[1], 3) for _, y in names}, reverse=True)
    widths = {round(axes[x].domain[0], 3): axes[x].domain[1] - axes[x].domain[0] for x, _ in names}
    heights = {round(axes[y].domain[1], 3): axes[y].domain[1] - axes[y].domain[0] for _, y in names}
    grid = figure.add_gridspec(
        *(len(tops), len(lefts)),
        width_ratios=[widths[left] for left in lefts],
        height_ratios=[heights[top] for top in tops],
    )
    panels: list[Panel] = []
    for x, y in names:
        place = grid[tops.index(round(axes[y].domain[1], 3)), lefts.index(round(axes[x].domain[0], 3))]
        first = panels[0].axes if panels else None
        shared = {
            f"share{letter}": first
            for letter, name in (("x", x), ("y", y))
            if first is not None and axes[name].options.get("matches")
        }
        panels.append(Panel(axes[x], axes[y], (x, y), figure.add_subplot(place, **shared)))
    return panels


def finish_panel(panel: Panel) -> None:
    """Scales, ticks and titles, after everything is drawn."""
    axes = panel.axes
    at_top = panel.x.options.get("side") == "top"
    axes.spines[["right", "bottom" if at_top else "top"]].set_visible(False)
    if at_top:
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
    axes.grid(visible=True, linewidth=0.4, color="#d9dde2")
    axes.set_axisbelow(True)
    for letter, axis in (("x", panel.x), ("y", panel.y)):
        finish_axis(axes, letter, axis)


def finish_axis(axes: Axes, letter: str, axis: PanelAxis) -> None:
    options, own = axis.options, axes.xaxis if letter == "x" else axes.yaxis
    if options.get("visible") is False:
        own.set_visible(False)
        axes.spines["bottom" if letter == "x" else "left"].set_visible(False)
    if options.get("type") == "log":
        (axes.set_xscale if letter == "x" else axes.set_yscale)("log")
        own.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        own.set_minor_formatter(NullFormatter())
    if axis.has_words and "tickvals" not in options:
        own.set_ticks(range(len(axis.categories)), [plain_text(word) for word in axis.categories])
    elif "tickvals" in options:
        own.set_ticks(axis.positions(options["tickvals"]), [plain_text(text) for text in options.get("ticktext", ())])
        own.set_minor_locator(NullLocator())
    elif options.get("type") != "log":
        own.set_major_locator(MaxNLocator(int(options.get("nticks", 5)), steps=[1, 2, 2.5, 5, 10]))
    if options.get("showgrid") is False or axis.has_words:
        own.grid(visible=False)
    if options.get("showticklabels") is False:
        own.set_tick_params(labelleft=False, labelbottom=False)
    if title := plain_text((options.get("title") or {}).get("text", "")):
        own.set_label_text(title)
    set_limits(axes, letter, axis)


def set_limits(axes: Axes, letter: str, axis: PanelAxis) -> None:
    options = axis.options
    limits = axes.get_xlim() if letter == "x" else axes.get_ylim()
    low, high = limits
    if options.get("range"):
        low, high = (10**each if options.get("type") == "log" else each for each in options["range"])
    elif options.get("rangemode") == "tozero" and options.get("type") != "log":
        low, high = min(0.0, low) if low < -0.1 * abs(high) else 0.0, max(0.0, high)
    if axis.has_words:
        low, high = -0.6, len(axis.categories) - 0.4
    if options.get("autorange") == "reversed":
        low, high = max(low, high), min(low, high)
    (axes.set_xlim if letter == "x" else axes.set_ylim)(low, high)


def draw_annotations(panels: Sequence[Panel], annotations: Sequence[Mapping[str, Any]]) -> None:
    """Titles of panels and of rows where they belong; words at a point of the data beside it."""
    for words in annotations:
        text = plain_text(words.get("text", ""))
        if words.get("xref") == "paper" and words.get("yref") == "paper":
            for axes, row in titled_axes(panels, words):
                if row:
                    axes.annotate(text, (1, 0.5), (4, 0), "axes fraction", "offset points", rotation=270, va="center")
                else:
                    axes.set_title(text)
            continue
        panel = next(
            (each for each in panels if {words.get("xref", "x"), words.get("yref", "y")} & set(each.names)), None
        )
        if panel is not None:
            annotate_point(panel, words, text)


def titled_axes(panels: Sequence[Panel], words: Mapping[str, Any]) -> Iterator[tuple[Axes, bool]]:
    """The panel that the words stand above, or the last of the row that they stand beside."""
    x, y = float(words["x"]), float(words["y"])
    if words.get("textangle"):
        row = [panel for panel in panels if abs(sum(panel.y.domain) / 2 - y) < NEAR]
        yield from ((panel.axes, True) for panel in sorted(row, key=lambda each: each.x.domain)[-1:])
        return
    for panel in panels:
        if abs(sum(panel.x.domain) / 2 - x) < NEAR and abs(panel.y.domain[1] - y) < NEAR:
            yield panel.axes, False
            return


def annotate_point(panel: Panel, words: Mapping[str, Any], text: str) -> None:
    anchor_x, anchor_y = words.get("xanchor", "auto"), words.get("yanchor", "auto")
    panel.axes.annotate(
        text,
        (panel.x.positions([words["x"]])[0], panel.y.positions([words["y"]])[0]),
        (POINTS_PER_PIXEL * words.get("xshift", 0), POINTS_PER_PIXEL * words.get("yshift", 0)),
        textcoords="offset points",
        ha=anchor_x if anchor_x in ("left", "right", "center") else "center",
        va={"top": "top", "bottom": "bottom"}.get(anchor_y, "center"),
        annotation_clip=False,
    )


def draw_shapes(panels: Sequence[Panel], shapes: Sequence[Mapping[str, Any]]) -> None:
    """Lines across a panel; what refers to the whole paper is drawn across each."""
    for shape in shapes:
        references = str(shape.get("xref", "x")), str(shape.get("yref", "y"))
        names = [reference.removesuffix(" domain") for reference in references]
        for panel in panels:
            if shape.get("type") == "line" and all(
                name == "paper" or name == own for name, own in zip(names, panel.names, strict=True)
            ):
                draw_line_shape(panel, shape, references)


def draw_line_shape(panel: Panel, shape: Mapping[str, Any], references: tuple[str, str]) -> None:
    axes = panel.axes
    share = [reference == "paper" or reference.endswith(" domain") for reference in references]
    transform = blended_transform_factory(
        axes.transAxes if share[0] else axes.transData, axes.transAxes if share[1] else axes.transData
    )
    x = [shape["x0"], shape["x1"]] if share[0] else panel.x.positions([shape["x0"], shape["x1"]])
    y = [shape["y0"], shape["y1"]] if share[1] else panel.y.positions([shape["y0"], shape["y1"]])
    dotted = (shape.get("line") or {}).get("dash") == "dot"
    width = 0.5 * float((shape.get("line") or {}).get("width", 1.6))
    axes.plot(x, y, color="#4a4a4a", linewidth=width, linestyle=":" if dotted else "-", transform=transform, zorder=1)
