"""Which classes a model takes for which: counts, shares of each true class, and the worst confusions in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.charts.chart import DataTable
from experiments.charts.panels import LINE_BREAK, PANELS_ACROSS, TITLE_LINE, PanelGrid, on_panel, panel_layout

MOST_NUMBERED_CLASSES = 15
"""Up to so many classes the cells have numbers in them."""
MOST_CONFUSIONS = 5


@dataclass(frozen=True)
class Confusion:
    true: str
    predicted: str
    count: int
    share: float


@dataclass(frozen=True)
class ConfusionInfo:
    """Rows are true classes, columns what the model said; `shares` are of each true class."""

    names: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    shares: tuple[tuple[float, ...], ...]
    accuracy: float | None
    worst: tuple[Confusion, ...]

    @property
    def samples(self) -> int:
        return sum(map(sum, self.counts))


def confusion_info(matrix: Sequence[Sequence[float]], names: Sequence[str]) -> ConfusionInfo:
    counts = tuple(tuple(int(count) for count in row) for row in matrix)
    shares = tuple(tuple(count / (sum(row) or 1) for count in row) for row in counts)
    total = sum(map(sum, counts))
    right = sum(row[place] for place, row in enumerate(counts))
    return ConfusionInfo(
        tuple(names), counts, shares, right / total if total else None, worst_confusions(names, counts, shares)
    )


def worst_confusions(
    names: Sequence[str], counts: Sequence[Sequence[int]], shares: Sequence[Sequence[float]]
) -> tuple[Confusion, ...]:
    """The commonest first."""
    wrong = [
        Confusion(names[true], names[predicted], count, shares[true][predicted])
        for true, row in enumerate(counts)
        for predicted, count in enumerate(row)
        if count and true != predicted
    ]
    return tuple(sorted(wrong, key=lambda each: (-each.count, -each.share))[:MOST_CONFUSIONS])


def confusion_figure(info: ConfusionInfo) -> dict[str, Any]:
    """Coloured by share, so that a rare class is as readable as a common one; the numbers are counts."""
    heat: dict[str, Any] = {
        "type": "heatmap",
        "x": list(info.names),
        "y": list(info.names),
        "z": [[round(share, 4) for share in row] for row in info.shares],
        "customdata": [list(row) for row in info.counts],
        "zmin": 0,
        "zmax": 1,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "true %{y}, said %{x}: %{customdata} (%{z:.1%} of the class)<extra></extra>",
        "meta": {"hue": 0, "heat": True},
    }
    if len(info.names) <= MOST_NUMBERED_CLASSES:
        heat |= {
            "text": [[f"{count:,}" if count else "" for count in row] for row in info.counts],
            "texttemplate": "%{text}",
        }
    axis = {"type": "category", "showgrid": False}
    return {
        "data": [heat],
        "layout": {
            "hovermode": "closest",
            "xaxis": {**axis, "title": {"text": "The model said"}},
            "yaxis": {**axis, "title": {"text": "True class"}, "autorange": "reversed"},
        },
    }


def confusion_description(info: ConfusionInfo) -> str:
    """The chart in words, for people who do not see it."""
    if info.accuracy is None:
        return "Confusion matrix without samples."
    pairs = "; ".join(f"{each.true} taken for {each.predicted} {each.count:,} times" for each in info.worst)
    return (
        f"Confusion matrix of {len(info.names)} classes over {info.samples:,} samples, {info.accuracy:.2%} right. "
        f"{f'Commonest confusions: {pairs}.' if pairs else 'Nothing is confused.'}"
    )


MOST_MATRICES = 6
"""On one page."""
MATRIX_HEIGHT = 330


def sum_confusions(matrices: Sequence[Sequence[Sequence[float]]], names: Sequence[str]) -> ConfusionInfo | None:
    """Of all seeds together; None where there is none, or where they have different classes."""
    if not matrices or len({len(matrix) for matrix in matrices}) > 1:
        return None
    return confusion_info(np.sum(matrices, axis=0).tolist(), names)


def confusions_figure(infos: Mapping[str, ConfusionInfo], *, narrow: bool = False) -> dict[str, Any]:
    """A panel each, with what it is and how much of it is right above."""
    titles = tuple(matrix_title(label, info) for label, info in infos.items()) or ("",)
    grid = PanelGrid(columns=titles, most_across=1 if narrow else PANELS_ACROSS)
    figures = [confusion_figure(info) for info in infos.values()]
    axes = figures[0]["layout"] if figures else {"xaxis": {}, "yaxis": {}}
    layout = panel_layout(grid, axes["xaxis"], axes["yaxis"])
    height = grid.down * (MATRIX_HEIGHT + TITLE_LINE * (grid.lines - 2))
    return {
        "data": [on_panel(figure["data"][0], place) for place, figure in enumerate(figures, start=1)],
        "layout": {**layout, "hovermode": "closest", "height": height},
    }


def matrix_title(label: str, info: ConfusionInfo) -> str:
    return label if info.accuracy is None else f"{label}{LINE_BREAK}{info.accuracy:.1%} right"


def confusions_table(infos: Mapping[str, ConfusionInfo]) -> DataTable:
    rows = tuple(
        (label, true, predicted, count, share)
        for label, info in infos.items()
        for true, counts, shares in zip(info.names, info.counts, info.shares, strict=True)
        for predicted, count, share in zip(info.names, counts, shares, strict=True)
    )
    return DataTable(("line", "true", "said", "count", "share"), rows)
