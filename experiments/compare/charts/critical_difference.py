"""Mean ranks over settings, and which methods cannot be told apart: Demšar's critical-difference diagram.

Ranks are Friedman's; two methods are told apart by the signed-rank test after Holm's correction, as everywhere on the
page, which does not depend on what other methods are in the comparison as Nemenyi's test does. Where Friedman's test
shows no difference at all, nobody is told apart from anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import DataTable
from experiments.compare.charts.significance import SignificanceInfo, p_text, row_name
from experiments.labels.metrics import MetricLabel
from experiments.statistics.rank_tests import ALPHA, settings_needed


@dataclass(frozen=True)
class RankedMethod:
    name: str
    rank: float


@dataclass(frozen=True)
class CriticalDifferenceInfo:
    """`methods` best first; each of `groups` has neighbours in that order of whom no two can be told apart."""

    label: MetricLabel
    methods: tuple[RankedMethod, ...]
    groups: tuple[tuple[str, ...], ...]
    settings: int
    p: float


def critical_difference_info(info: SignificanceInfo) -> CriticalDifferenceInfo | None:
    """None where Friedman's test says nothing: fewer than three methods, or than two settings with all of them."""
    test = info.friedman
    if test is None:
        return None
    ranked = sorted(zip(info.methods, test.mean_ranks, strict=True), key=lambda each: each[1])
    methods = tuple(RankedMethod(name, rank) for name, rank in ranked)
    differing = different_pairs(info) if test.p < ALPHA else set()
    groups = groups_alike([method.name for method in methods], differing)
    return CriticalDifferenceInfo(info.label, methods, groups, test.settings, test.p)


def different_pairs(info: SignificanceInfo) -> set[frozenset[str]]:
    return {
        frozenset((pair.first, pair.second))
        for pair in info.pairs
        if pair.corrected is not None and pair.corrected < ALPHA
    }


def groups_alike(names: Sequence[str], differing: set[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """As long as possible, and none inside another."""
    groups: list[tuple[str, ...]] = []
    last_end = 0
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and all(frozenset((names[end], each)) not in differing for each in names[start:end]):
            end += 1
        if end - start > 1 and end > last_end:
            groups.append(tuple(names[start:end]))
            last_end = end
    return tuple(groups)


GROUP_STEP, LABEL_STEP = 0.28, 0.6
ROW_PIXELS, NARROW_PIXELS, FRAME_PIXELS, LETTER_PIXELS = 30, 40, 84, 7.2
EDGE = 0.12
"""Between the outermost ranks and the names, as a share of the axis."""


def critical_difference_figure(info: CriticalDifferenceInfo, *, narrow: bool = False) -> dict[str, Any]:
    """The axis of ranks at the top, bars over groups below it, names at both sides with lines to their ranks; on a
    `narrow` screen a row for each method, with its name above it."""
    if narrow:
        return rank_rows_figure(info)
    count = len(info.methods)
    edge = EDGE * (count - 1)
    left = -(-count // 2)
    first_label = GROUP_STEP * (len(info.groups) + 1) + LABEL_STEP / 2
    data, words = [], []
    for place, method in enumerate(info.methods):
        on_left = place < left
        depth = -(first_label + LABEL_STEP * (place if on_left else count - 1 - place))
        side = 1 - edge if on_left else count + edge
        data.append(leader_trace(method, side, depth))
        words.append(name_annotation(method, side, depth, on_left=on_left))
    ranks = {method.name: method.rank for method in info.methods}
    for place, group in enumerate(info.groups, start=1):
        data.append(group_trace(group, [ranks[name] for name in group], -GROUP_STEP * place))
    longest = max(len(name_text(method)) for method in info.methods)
    lowest = -(first_label + LABEL_STEP * (left - 1)) - LABEL_STEP / 2
    return {
        "data": data,
        "layout": {
            "hovermode": "closest",
            "height": round(ROW_PIXELS * (left + 0.5 * len(info.groups))) + FRAME_PIXELS,
            "margin": {
                "l": round(LETTER_PIXELS * longest) + 12,
                "r": round(LETTER_PIXELS * longest) + 12,
                "t": 52,
                "b": 8,
            },
            "xaxis": rank_axis(info, edge),
            "yaxis": {"visible": False, "range": [lowest, 0]},
            "annotations": words,
        },
    }


def rank_rows_figure(info: CriticalDifferenceInfo) -> dict[str, Any]:
    count, edge = len(info.methods), EDGE * (len(info.methods) - 1)
    first = GROUP_STEP * (len(info.groups) + 1) + LABEL_STEP
    depths = {method.name: -(first + LABEL_STEP * place) for place, method in enumerate(info.methods)}
    ranks = {method.name: method.rank for method in info.methods}
    groups = [
        group_trace(group, [ranks[name] for name in group], -GROUP_STEP * place)
        for place, group in enumerate(info.groups, start=1)
    ]
    return {
        "data": [*(rank_mark(method, depths[method.name]) for method in info.methods), *groups],
        "layout": {
            "hovermode": "closest",
            "height": round(NARROW_PIXELS * (count + 0.5 * len(info.groups))) + FRAME_PIXELS,
            "margin": {"l": 12, "r": 12, "t": 52, "b": 8},
            "xaxis": {**rank_axis(info, edge), "showgrid": True},
            "yaxis": {"visible": False, "range": [min(depths.values()) - LABEL_STEP / 2, 0]},
            "annotations": [row_name(name_text(method), depths[method.name]) for method in info.methods],
        },
    }


def rank_axis(info: CriticalDifferenceInfo, edge: float) -> dict[str, Any]:
    count = len(info.methods)
    return {
        "title": {"text": f"Mean rank over {info.settings} settings (1 is best)"},
        "side": "top",
        "range": [1 - edge, count + edge],
        "tickvals": list(range(1, count + 1)),
        "ticktext": [str(rank) for rank in range(1, count + 1)],
        "showgrid": False,
    }


def rank_mark(method: RankedMethod, depth: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [method.rank],
        "y": [depth],
        "hovertemplate": f"{method.name}: mean rank {method.rank:.2f}<extra></extra>",
        "marker": {"size": 9},
        "meta": {"ink": True},
    }


def leader_trace(method: RankedMethod, side: float, depth: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [method.rank, method.rank, side],
        "y": [0, depth, depth],
        "hovertemplate": f"{method.name}: mean rank {method.rank:.2f}<extra></extra>",
        "line": {"width": 1.5},
        "meta": {"ink": True},
    }


def group_trace(group: Sequence[str], ranks: Sequence[float], height: float) -> dict[str, Any]:
    """A little longer than its methods' ranks, so that it is seen to hold them."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [min(ranks) - 0.04, max(ranks) + 0.04],
        "y": [height, height],
        "hovertemplate": f"Not told apart: {', '.join(group)}<extra></extra>",
        "line": {"width": 6},
        "meta": {"hue": 0},
    }


def name_annotation(method: RankedMethod, side: float, depth: float, *, on_left: bool) -> dict[str, Any]:
    anchor = {"xanchor": "right", "xshift": -4} if on_left else {"xanchor": "left", "xshift": 4}
    return {"text": name_text(method), "x": side, "y": depth, "showarrow": False, "yanchor": "middle", **anchor}


def name_text(method: RankedMethod) -> str:
    return f"{method.name} ({method.rank:.2f})"


def critical_difference_description(info: CriticalDifferenceInfo) -> str:
    ranks = ", ".join(f"{method.name} {method.rank:.2f}" for method in info.methods)
    groups = "; ".join(", ".join(group) for group in info.groups)
    apart = f"Cannot be told apart: {groups}" if groups else "All can be told apart"
    return f"{info.label.axis}: mean ranks over {info.settings} settings, best first: {ranks}. {apart}."


def critical_difference_notes(info: CriticalDifferenceInfo) -> str:
    """What bars mean, and by which tests."""
    overall = "differ" if info.p < ALPHA else "cannot be shown to differ"
    friedman = f"Friedman: the {len(info.methods)} {overall} over {info.settings} settings ({p_text(info.p)})"
    test = "(exact Wilcoxon signed-rank test on cell means, p ≥ 0.05 after Holm)"
    bars = f"bars join methods that cannot be told apart {test}" if info.groups else "every two are told apart"
    needed = settings_needed(len(info.methods) * (len(info.methods) - 1) // 2)
    few = (
        f" · with so many pairs at least {needed} settings are needed to tell two apart"
        if info.settings < needed
        else ""
    )
    return f"{friedman} · {bars}{few}"


def critical_difference_table(info: CriticalDifferenceInfo) -> DataTable:
    """`groups` are the numbers of the bars that a method is under."""
    rows = tuple(
        (
            method.name,
            method.rank,
            " ".join(str(place) for place, group in enumerate(info.groups, start=1) if method.name in group),
        )
        for method in info.methods
    )
    return DataTable(("method", "mean rank", "groups"), rows)
