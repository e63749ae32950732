"""Confusion matrices of several cells, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.charts.confusion import ConfusionInfo, confusion_figure, confusion_info
from experiments.charts.panels import ACROSS, Grid, on_panel, panel_layout
from experiments.charts.tables import Table

MOST = 6
HEIGHT = 330


def summed(matrices: Sequence[Sequence[Sequence[float]]], names: Sequence[str]) -> ConfusionInfo | None:
    """Of all seeds together; None where there is none, or where they have different classes."""
    if not matrices or len({len(matrix) for matrix in matrices}) > 1:
        return None
    return confusion_info(np.sum(matrices, axis=0).tolist(), names)


def confusions_figure(infos: Mapping[str, ConfusionInfo], *, narrow: bool = False) -> dict[str, Any]:
    """A panel each, with what it is and how much of it is right above."""
    titles = tuple(heading(label, info) for label, info in infos.items()) or ("",)
    grid = Grid(columns=titles, lines=2, most_across=1 if narrow else ACROSS)
    figures = [confusion_figure(info) for info in infos.values()]
    axes = figures[0]["layout"] if figures else {"xaxis": {}, "yaxis": {}}
    layout = panel_layout(grid, axes["xaxis"], axes["yaxis"])
    return {
        "data": [on_panel(figure["data"][0], place) for place, figure in enumerate(figures, start=1)],
        "layout": {**layout, "hovermode": "closest", "height": HEIGHT * grid.down},
    }


def heading(label: str, info: ConfusionInfo) -> str:
    return label if info.accuracy is None else f"{label}<br>{info.accuracy:.1%} right"


def confusions_table(infos: Mapping[str, ConfusionInfo]) -> Table:
    rows = tuple(
        (label, true, said, count, share)
        for label, info in infos.items()
        for true, counts, shares in zip(info.names, info.counts, info.shares, strict=True)
        for said, count, share in zip(info.names, counts, shares, strict=True)
    )
    return Table(("line", "true", "said", "count", "share"), rows)
