"""Two methods setting by setting: the paired difference with its 95 % interval, and zero as the line to cross."""

from __future__ import annotations

from typing import Any

from experiments.charts.better import PairInfo
from experiments.charts.intervals import Difference
from experiments.charts.metrics import MetricLabel

MOST_SETTINGS = 60
ROW_HEIGHT = 26
WORDS = {"better": "better", "worse": "worse", "tie": "tie", "unknown": "too few seeds"}
HUES = {"better": 3, "worse": 1, "tie": 7, "unknown": 7}


def standing(pair: PairInfo, verdict: str) -> str:
    if verdict in ("tie", "unknown"):
        return verdict
    return "better" if (verdict == "more") == pair.higher else "worse"


def forest_figure(pair: PairInfo, label: MetricLabel) -> dict[str, Any]:
    """The largest difference at the top."""
    known = [each for each in pair.settings if each.difference is not None]
    known.sort(key=lambda each: each.difference.mean if each.difference else 0.0)
    data = []
    for each in known[-MOST_SETTINGS:]:
        found = each.difference
        assert found is not None
        kind = standing(pair, found.verdict)
        half = 0.0 if found.high is None else found.high - found.mean
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [found.mean],
                "y": [each.setting or "only setting"],
                "error_x": {
                    "type": "data",
                    "array": [half],
                    "width": 4,
                    "thickness": 1.5,
                    "visible": found.high is not None,
                },
                "marker": {"size": 9, "symbol": "circle-open" if found.high is None else "circle"},
                "hovertemplate": f"%{{y}}: {told(found, label)}, {WORDS[kind]}<extra></extra>",
                "meta": {"hue": HUES[kind]},
            }
        )
    unit = f", {label.difference_unit}" if label.unit else ""
    zero = {
        "type": "line",
        "layer": "below",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "x0": 0,
        "x1": 0,
        "line": {"width": 1.5},
    }
    return {
        "data": data,
        "layout": {
            "hovermode": "closest",
            "height": max(200, ROW_HEIGHT * len(data) + 90),
            "xaxis": {"title": {"text": f"{pair.first} minus {pair.second}{unit}"}},
            "yaxis": {"type": "category", "title": {"text": ""}},
            "shapes": [zero],
        },
    }


def told(found: Difference, label: MetricLabel) -> str:
    half = "" if found.high is None else f" ± {found.high - found.mean:.{label.digits}f}"
    return f"{found.mean:+.{label.digits}f}{half} (n={found.n})"


def forest_description(pair: PairInfo, label: MetricLabel) -> str:
    rows = "; ".join(
        f"{each.setting or 'only setting'}: {told(found, label)}, {WORDS[standing(pair, found.verdict)]}"
        for each in pair.settings
        if (found := each.difference) is not None
    )
    return f"{label.axis}: {pair.first} minus {pair.second}. {rows or 'They share no seed in any setting'}."


def forest_notes(pair: PairInfo) -> str:
    counts = f"{pair.first} better in {pair.wins}, worse in {pair.losses}, tie in {pair.ties} settings"
    few = f", too few seeds in {pair.unknown}" if pair.unknown else ""
    return f"{counts}{few} · bars: 95 % interval of the difference over matching seeds (Student's t)"
