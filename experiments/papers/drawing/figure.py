"""A whole figure in the style of a paper: serif letters of the text's size, no title, no background, legend above."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from experiments.core.json_values import plain_text as printable_text
from experiments.papers.drawing.appearance import Appearance, appearances, look_key, trace_key
from experiments.papers.drawing.panels import (
    Panel,
    draw_annotations,
    draw_shapes,
    finish_panel,
    make_panels,
    plain_text,
)
from experiments.papers.drawing.traces import dodges, draw_trace, stack_traces
from experiments.papers.figure_style import PNG_DPI, FigureStyle

FAMILIES = {
    "serif": ["STIXGeneral", "DejaVu Serif"],
    "modern": ["cmr10", "STIXGeneral"],
    "sans": ["DejaVu Sans"],
}
SVG_FAMILIES = {"serif": ["Times New Roman", "Times"], "modern": ["CMU Serif", "Latin Modern Roman"], "sans": []}
"""Put first where letters stay letters: readers of an SVG file have their own fonts."""
LETTER, HANDLE = 0.5, 4.2
"""Width of a letter and of a legend entry's sample, in sizes of letters."""
LINE, ROW = 1.35, 1.75
TALLEST = 9.0
PLAIN_MARGIN, MARKER_ROOM = 0.05, 4.0
"""Beside the data: a share of their range, and points."""
PLOT_SHARE = 0.82
"""Of a figure's width, what its labels leave."""


def draw_figure(
    figure: Mapping[str, Any],
    legend: Sequence[Mapping[str, Any]],
    style: FigureStyle,
    form: str,
    caption: str = "",
) -> bytes:
    """`form` is pdf, svg or png; the caption goes into the file's own description."""
    with rc_context(settings(style, form)), warnings.catch_warnings():
        # It would set ticks as formulas; hyphens for minus signs do.
        warnings.filterwarnings("ignore", message="cmr10 font should ideally")
        data, layout = stack_traces(figure["data"]), figure["layout"]
        looks = appearances(data, style.ink)
        entries = [entry for entry in legend if entry.get("n")] if len(legend) > 1 else []
        columns = legend_columns(entries, style)
        sheet = Figure(layout="constrained")
        panels = make_panels(sheet, data, layout)
        by_names = {panel.names: panel for panel in panels}
        panel_points = PLOT_SHARE * 72 * style.inches / panels_across(panels)
        asides = dodges(data, panel_points)
        for panel in panels:
            panel.axes.set_xmargin(x_margin(max(map(abs, asides), default=0.0), panel_points))
        for trace, aside in zip(data, asides, strict=True):
            names = str(trace.get("xaxis", "x")), str(trace.get("yaxis", "y"))
            draw_trace(by_names[names], trace, looks[trace_key(trace)], aside, style.size)
        draw_shapes(panels, layout.get("shapes", ()))
        for panel in panels:
            finish_panel(panel)
        draw_annotations(panels, layout.get("annotations", ()))
        if entries:
            add_legend(sheet, entries, looks, columns, with_lines=any(trace["type"] == "scatter" for trace in data))
        sheet.set_size_inches(style.inches, sheet_height(panels, style, -(-len(entries) // columns)))
        keep_labels_inside(sheet, panels)
        return saved(sheet, form, printable_text(caption))


def settings(style: FigureStyle, form: str) -> dict[Any, Any]:
    """Letters stay letters in PDF (embedded TrueType) and SVG; a dollar sign is a dollar sign."""
    own = SVG_FAMILIES[style.font] if form == "svg" else []
    return {
        "font.family": [*own, *FAMILIES[style.font]] if form == "svg" else FAMILIES[style.font],
        "font.size": style.size,
        "axes.titlesize": style.size,
        "axes.labelsize": style.size,
        "xtick.labelsize": style.size * 0.9,
        "ytick.labelsize": style.size * 0.9,
        "legend.fontsize": style.size * 0.9,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "axes.unicode_minus": style.font != "modern",
        "hatch.linewidth": 0.4,
        "text.parse_math": False,
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "tributary",
        "figure.constrained_layout.h_pad": 0.02,
        "figure.constrained_layout.w_pad": 0.02,
    }


def legend_columns(entries: Sequence[Mapping[str, Any]], style: FigureStyle) -> int:
    longest = max((len(entry["label"]) for entry in entries), default=0)
    entry_inches = (HANDLE + LETTER * longest) * style.size * 0.9 / 72
    return max(1, min(len(entries), math.floor(style.inches / entry_inches)))


def add_legend(
    sheet: Figure,
    entries: Sequence[Mapping[str, Any]],
    looks: Mapping[str, Appearance],
    columns: int,
    *,
    with_lines: bool,
) -> None:
    plain = next(iter(looks.values()))
    handles: list[Artist] = []
    for entry in entries:
        look = looks.get(look_key(entry["label"], entry["hue"]), plain)
        line = Line2D([], [], color=look.colour, linestyle=look.dash, marker=look.marker, markersize=3, linewidth=0.9)
        patch = Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0.4)
        handles.append(line if with_lines else patch)
    sheet.legend(
        handles,
        [plain_text(entry["label"]) for entry in entries],
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        handlelength=2.6,
        handletextpad=0.5,
        columnspacing=1.2,
        borderaxespad=0.1,
        labelspacing=0.25,
    )


def panels_across(panels: Sequence[Panel]) -> int:
    return len({round(panel.x.domain[0], 3) for panel in panels})


def x_margin(aside: float, width: float) -> float:
    """What to leave on either side, as a share of the data's range, so that what was moved aside by so many points
    has room with its marker in a panel that is `width` points wide."""
    if not aside:
        return PLAIN_MARGIN
    share = min(0.25, (aside + MARKER_ROOM) / width)
    return max(PLAIN_MARGIN, share / (1 - 2 * share))


def keep_labels_inside(sheet: Figure, panels: Sequence[Panel]) -> None:
    """A long label below a narrow plot ends where the plot ends, not beyond the paper; one beside a low plot has two
    lines."""
    sheet.draw_without_rendering()
    for panel in panels:
        label = panel.axes.xaxis.label
        if label.get_window_extent().x1 > sheet.bbox.x1:
            label.set(x=1.0, horizontalalignment="right")
        upright = panel.axes.yaxis.label
        if upright.get_window_extent().height > panel.axes.bbox.height:
            upright.set_text(in_two_lines(upright.get_text()))


def in_two_lines(text: str) -> str:
    """Broken at the space that is nearest to its middle."""
    spaces = [place for place, letter in enumerate(text) if letter == " "]
    if not spaces:
        return text
    middle = min(spaces, key=lambda place: abs(2 * place - len(text)))
    return f"{text[:middle]}\n{text[middle + 1 :]}"


def sheet_height(panels: Sequence[Panel], style: FigureStyle, legend_lines: int) -> float:
    """In inches: a line of letters for each word on an upright axis, otherwise a panel in a pleasant shape."""
    letter = style.size / 72
    rows = {round(panel.y.domain[1], 3): panel for panel in panels}
    across = panels_across(panels)
    width = style.inches / across
    shape = (0.42 if across <= 2 else 0.62) if style.spans_columns else 0.62 if across == 1 else 0.8
    total = 4.5 * letter + LINE * letter * legend_lines
    for panel in rows.values():
        words = [word.count("<br>") + 1 for word in map(str, panel.y.options.get("ticktext", panel.y.categories))]
        if panel.y.has_words:
            total += max(ROW * letter * sum(words), 3 * letter)
        elif panel.y.options.get("visible") is False:
            low, high = panel.y.options["range"]
            total += 1.7 * ROW * letter * (high - low)
        else:
            total += max(0.9, shape * width)
        total += LINE * letter * (panel.axes.get_title().count("\n") + 1 if panel.axes.get_title() else 0)
    return min(TALLEST, total)


def saved(sheet: Figure, form: str, caption: str) -> bytes:
    """The same figure gives the same bytes: no date is in it."""
    described = {
        "pdf": {"Subject": caption, "Creator": "Tributary", "CreationDate": None},
        "svg": {"Description": caption, "Creator": "Tributary", "Date": None},
        "png": {"Description": caption, "Software": "Tributary"},
    }[form]
    file = BytesIO()
    sheet.savefig(file, format=form, dpi=PNG_DPI, transparent=form != "png", metadata=described)
    return file.getvalue()
