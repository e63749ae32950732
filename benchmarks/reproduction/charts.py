"""What is drawn of stored runs: curves of each setting, or values against the hybrid ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.labels.axes import drop_redundant_axes, flat_axis_values, follows_from
from experiments.labels.names import axis_title
from experiments.presets.comparison import MeasuredCell
from experiments.presets.preset import Final, Preset, Reach
from experiments.presets.readings import CurveReading, mean_curve, read_sample
from experiments.statistics.intervals import interval_around, t_half_width
from experiments.statistics.over_seeds import mean_and_std
from workers.spec import flatten

RATIO = "hybrid.ratio"
DIGITS = 5
Words = dict[str, dict[int, str]]
"""By axis the word of each cell, which is known by its place."""
Lines = dict[str, list[list[float | None]]]


def cell_words(cells: Sequence[MeasuredCell]) -> Words:
    """What tells the cells apart."""
    flat = {str(place): flatten(cell.spec) for place, cell in enumerate(cells)}
    axes = drop_redundant_axes(flat_axis_values(flat))
    return {axis: {int(place): word for place, word in words.items()} for axis, words in axes.items()}


def cell_label(words: Words, place: int, without: Sequence[str] = ()) -> str:
    return " · ".join(own[place] for axis, own in words.items() if axis not in without)


def draw_charts(preset: Preset, cells: Sequence[MeasuredCell]) -> list[dict[str, Any]]:
    words = cell_words(cells)
    if RATIO not in words:
        return curve_charts(cells, words)
    target = preset.target or 0.9
    reach = Reach(take="reach", target=target)
    return [
        ratio_chart(cells, words, "Final accuracy", "test accuracy, %", Final(take="final"), 100.0),
        ratio_chart(cells, words, f"Rounds to {target:.0%}", "rounds", reach, 1.0),
    ]


def ratio_chart(
    cells: Sequence[MeasuredCell], words: Words, title: str, y: str, reading: CurveReading, scale: float
) -> dict[str, Any]:
    """Lines over most ratios: an aside at a few of them is in the tables."""
    lines: Lines = {}
    for place, cell in sorted(enumerate(cells), key=lambda each: each[1].spec["hybrid"]["ratio"]):
        sample = read_sample(reading, cell.seeds, scale)
        if sample.mean is None:
            continue
        half = t_half_width(sample.std, sample.n)
        low, high = (None, None) if half is None else interval_around(sample.mean, half)
        point = [rounded(value) for value in (sample.mean, low, high)]
        lines.setdefault(cell_label(words, place, [RATIO]), []).append([cell.spec["hybrid"]["ratio"], *point])
    most = max(map(len, lines.values()), default=0)
    whole = {label: points for label, points in lines.items() if 2 * len(points) > most}
    return {"title": title, "x": axis_title(RATIO), "y": y, "lines": whole}


def curve_charts(cells: Sequence[MeasuredCell], words: Words) -> list[dict[str, Any]]:
    """One for each setting, with a line for each strategy. What trained for one round has no curve, and a field that
    follows from the strategy (FedLoss alone validates) makes no setting."""
    charts: dict[str, Lines] = {}
    strategies = words.get("strategy", {})
    by_strategy = [axis for axis, own in words.items() if strategies and follows_from(own, strategies)]
    for place, cell in enumerate(cells):
        if cell.spec["rounds"] < 2:
            continue
        setting = cell_label(words, place, by_strategy)
        label = strategies.get(place, str(cell.spec["strategy"]["name"]))
        charts.setdefault(setting, {})[label] = mean_points(cell)
    return [
        {
            "title": f"Accuracy over rounds{f', {setting}' if setting else ''}",
            "x": "round",
            "y": "test accuracy, %",
            "lines": dict(sorted(lines.items())),
        }
        for setting, lines in sorted(charts.items())
    ]


def mean_points(cell: MeasuredCell) -> list[list[float | None]]:
    """Round, mean, and one standard deviation to each side, over the seeds that have the round."""
    by_round: dict[int, list[float]] = {}
    for runs in cell.seeds.values():
        for number, value in mean_curve([curves.get("accuracy", {}) for curves in runs]).items():
            by_round.setdefault(number, []).append(100 * value)
    points: list[list[float | None]] = []
    for number, values in sorted(by_round.items()):
        mean, std = mean_and_std(values)
        low, high = (None, None) if std is None or mean is None else (mean - std, mean + std)
        points.append([float(number), *(rounded(value) for value in (mean, low, high))])
    return points


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
