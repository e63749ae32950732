"""The controls of Compare: what can be chosen, and what is."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from experiments.charts.compare_curves import X_AXES
from experiments.charts.drawing import SMOOTHINGS
from experiments.charts.labels import axis_title
from experiments.charts.metrics import in_reading_order, metric_label
from experiments.charts.placing import NONE, uncrowded
from experiments.charts.values import KINDS, compared_axis, value_label
from experiments.compare.choices import ALL_BANDS, TABS, Choices
from experiments.compare.overview import against_field
from experiments.compare.picked import Picked
from experiments.selectors.statistics import metric_names

LOOKED_AT = 12
X_WORDS = {"round": "round", "steps": "local steps", "samples": "samples", "bytes": "bytes", "seconds": "seconds"}


def strip_context(found: Picked, choices: Choices, query: QueryDict) -> dict[str, Any]:
    return {
        "tabs": [(name, text, changed(query, tab=name)) for name, text in TABS.items()],
        "metric": metric_label(choices.metric),
        "metrics": [metric_label(name) for name in metrics_of(found, choices)],
        "bands": ALL_BANDS,
        "x_axes": {name: X_WORDS[name] for name in X_AXES},
        "axes": {axis: axis_title(axis) for axis in found.axes},
        "fields": found.fields,
        "against": against_field(found, choices),
        "placing": uncrowded(found.axes, choices.placing, len(found.cells)),
        "none": NONE,
        "value": value_label(metric_label(choices.metric), choices.wanted),
        "compared": compared_axis(found.axes, choices.compared),
        "kinds": KINDS,
        "smoothings": SMOOTHINGS,
        "smooth_text": f"{choices.drawing.smoothing:g}",
        "at_text": ", ".join(map(str, choices.wanted.at)),
    }


def metrics_of(found: Picked, choices: Choices) -> list[str]:
    """Those of one run of each strategy, which may have metrics of its own; the chosen one is always among them."""
    runs = {cell.spec["strategy"]["name"]: cell.runs[0].pk for cell in reversed(found.cells)}
    names = metric_names(runs=list(runs.values())[:LOOKED_AT])
    return in_reading_order(list(dict.fromkeys([*names, choices.metric])))


def changed(query: QueryDict, **changes: str) -> str:
    """The same view with other choices."""
    other = query.copy()
    for name, value in changes.items():
        other[name] = value
    return other.urlencode()
